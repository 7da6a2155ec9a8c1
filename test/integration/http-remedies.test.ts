// The commands that the HTTP server suggests, and what it says about faults of its own machine. A
// replay serves them without a cluster.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { type TestContext, test } from 'node:test';
import { Scratch, start, until } from './cli-process.ts';
import { ask } from './http-asker.ts';
import { makeQueuedState } from './queued-state.ts';

/** A replay in which a2 has no state, and the base of its API. */
async function replayed(t: TestContext, ...more: readonly string[]) {
  const scratch = new Scratch();
  const file = await scratch.config(2);
  makeQueuedState(scratch, 'a1', 'http://a.test/');
  const replay = start(['replay', file, ...more.map((word) => word || scratch.dataDir)]);
  t.after(async () => {
    replay.child.kill('SIGKILL');
    await replay.ended;
    scratch.clean();
  });
  await until('the replay is served', () => replay.stdout().includes('#replay'));
  const [, url] = /(http:\/\/\S+)\/#replay/.exec(replay.stdout())!;
  return { scratch, file, api: `${url}/api/v1` };
}

interface Said {
  readonly detail?: string;
  readonly remedy?: string;
  readonly problems?: readonly (string | { readonly remedy: string })[];
}

/** The commands of ubiring in what was said. */
function commandsIn({ detail, remedy, problems = [] }: Said): string[] {
  const texts = problems.map((one) => (typeof one === 'string' ? one : one.remedy));
  const all = [detail, remedy, ...texts].join('\n');
  return [...all.matchAll(/ubiring (?:agent|launch|resume) .*/g)].map(([command]) => command);
}

for (const isGiven of [true, false]) {
  test(`suggested commands ${isGiven ? 'name the data directory' : 'omit --data'} as the user did`, async (t) => {
    const { scratch, file, api } = await replayed(t, ...(isGiven ? ['--data', ''] : []));
    const crawl = isGiven ? `${file} --data ${scratch.dataDir}` : file;
    const suggested = async (path: string, body?: object) => {
      const options = body === undefined ? {} : { method: 'POST', body };
      const { text } = await ask(`${api}${path}`, options);
      const commands = commandsIn(JSON.parse(text) as Said);
      assert.ok(commands.length > 0, text);
      for (const command of commands) {
        const [, , ...named] = command.split(' ');
        assert.deepEqual(named.slice(0, crawl.split(' ').length), crawl.split(' '), command);
        assert.equal(command.includes('--data'), isGiven, command);
      }
    };
    await suggested('/cluster');
    await suggested('/agents/a2/moves');
    // Without a state, there is nothing to query.
    fs.rmSync(scratch.dataDir, { recursive: true });
    await suggested('/query', { sql: 'SELECT host FROM hosts' });
  });
}

test('a fault of the server is no fault of the query', async (t) => {
  const { scratch, file, api } = await replayed(t);
  const config = fs.readFileSync(file, 'utf8');
  const asked = async (path: string, body?: object) => {
    const { status, text } = await ask(`${api}${path}`, body && { method: 'POST', body });
    return { status, ...(JSON.parse(text) as { code: string; detail: string; remedy: string }) };
  };
  const faults: [text: string | null, cause: RegExp, remedy: RegExp][] = [
    ['foo: [', /crawl\.json:1/, /./],
    [config.replace('"cli-test"', '"other"'), /belongs to crawl 'cli-test'/, /^restore 'name: /],
    [null, /crawl\.json/, /./],
  ];
  for (const [text, cause, remedy] of faults) {
    if (text === null) fs.rmSync(file);
    else scratch.write('crawl.json', text);
    const query = await asked('/query', { sql: 'SELECT 1' });
    const explain = await asked('/explain?url=http://a.test/');
    for (const one of [query, explain]) {
      assert.deepEqual([one.status, one.code], [503, 'command-failed'], one.detail);
      assert.match(one.detail, cause);
      assert.match(one.remedy, remedy);
    }
    assert.deepEqual([query.detail, query.remedy], [explain.detail, explain.remedy]);
  }
});
