// What an agent stores is for its owner only, unless the operator opens its directory to others.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { startWeb } from '../web/server.ts';
import { run, Scratch, start, until } from './cli-process.ts';

const size = { hosts: 6, pages: 6, port: 0, net: 47, sparse: true, shares: { flaky: 0, slow: 0 } };
/** A crawl that is still at work when the test looks. */
const crawl = { politeness: { hostDelayMs: 1500 } };

before(() => {
  // As most systems have it: others may read.
  process.umask(0o022);
});

/** Each file and directory below, with its mode. */
function modesBelow(directory: string): Map<string, string> {
  const entries = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const modeOf = (file: string) => (fs.statSync(file).mode & 0o777).toString(8);
  const modes = entries.map((name) => [name, modeOf(path.join(directory, name))] as const);
  return new Map([['.', modeOf(directory)], ...modes]);
}

async function crawlInto(scratch: Scratch): Promise<Map<string, string>> {
  const web = await startWeb(size);
  try {
    const config = await scratch.config(2, { seeds: [web.seed], ...crawl });
    const launch = start(['launch', config]);
    await until('pages', () => web.requests().length >= 6);
    const modes = modesBelow(scratch.dataDir);
    await run('stop', config);
    await launch.ended;
    return modes;
  } finally {
    await web.stop();
  }
}

test('files: all that agents store is readable by its owner only', async (context) => {
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

test('files: a directory that the operator made keeps its mode, and the umask holds in it', async (context) => {
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
