// Only the owner can read the files of an agent, unless the operator has opened its directory.
// The slower of these tests; the others are in `test/integration/private-files.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Scratch } from '../cli-process.ts';
import { crawlInto } from '../private-files-stage.ts';

test('files: a directory that the operator made keeps its mode, and its files follow the umask', async (context) => {
  const scratch = new Scratch();
  context.after(() => scratch.clean());
  fs.mkdirSync(path.join(scratch.dataDir, 'a1'), { recursive: true, mode: 0o755 });
  const modes = await crawlInto(scratch);
  assert.deepEqual(
    ['.', 'a1', 'a1/agent.log', 'a1/state.sqlite', 'a2', 'a2/agent.log', 'a2/state.sqlite'].map(
      (name) => modes.get(name),
    ),
    ['755', '755', '644', '644', '700', '600', '600'],
  );
});
