// Only the owner can read the files of an agent, unless the operator has opened its directory.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Scratch } from './cli-process.ts';
import { crawlInto } from './private-files-stage.ts';

test('files: only the owner can read what agents store', async (context) => {
  const scratch = new Scratch();
  context.after(() => scratch.clean());
  const modes = await crawlInto(scratch);
  const names = [...modes.keys()];
  for (const file of ['state.sqlite', 'state.sqlite-wal', 'agent.log', 'agent.endpoint']) {
    assert.ok(names.includes(path.join('a1', file)), `${file} in ${names}`);
  }
  assert.ok(
    names.some((name) => name.includes('.warc')),
    String(names),
  );
  const open = [...modes].filter(([, mode]) => mode !== '700' && mode !== '600');
  assert.deepEqual(open, []);
});
