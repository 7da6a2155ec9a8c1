// Real processes whose contacts would make them two clusters.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { call, run, until, untilJoined } from '../cli-process.ts';
import { assertCode } from '../cluster-stage.ts';
import { stageOf } from '../contacts-stage.ts';

/** A config of the same crawl, with other contacts, and perhaps another data directory. */
function other(
  { scratch, config }: Pick<Awaited<ReturnType<typeof stageOf>>, 'scratch' | 'config'>,
  contacts: readonly string[],
  dataDir = 'data',
): string {
  const written = JSON.parse(fs.readFileSync(config, 'utf8')) as {
    readonly cluster: object;
    readonly agent: object;
  };
  const cluster = { ...written.cluster, contacts };
  const agent = { ...written.agent, dataDir };
  return scratch.write(`${contacts.length}-${dataDir}.json`, { ...written, cluster, agent });
}

describe('agents with different contacts', { concurrency: 2 }, () => {
  // The second test continues with the agents of the first.
  describe('of one directory and of two', { concurrency: 1 }, () => {
    const cleanups: (() => unknown)[] = [];
    let stage: Awaited<ReturnType<typeof stageOf>>;
    before(async () => {
      stage = await stageOf({ after: (what) => cleanups.push(what) }, 'abc', 91);
    });
    after(async () => {
      for (const cleanup of cleanups) await cleanup();
    });

    test('an agent that knows only itself joins the agents of its data directory', async () => {
      const { config, at, begin } = stage;
      const first = begin('a');
      await untilJoined(config, 'a');
      await until('its line', () =>
        /begins a new cluster: its own address is the only contact; if agents/.test(first.stderr()),
      );
      const late = begin('c', other(stage, [at('c')]));
      await untilJoined(config, 'a', 'c');
      await until('its line', () => late.stderr().includes('has joined; other agents in view: 1'));
      assert.doesNotMatch(late.stderr(), /new cluster/);
    });

    test('status warns of agents that do not know each other', async (t) => {
      const { scratch, config, at, begin } = stage;
      const b = begin('b', other(stage, [at('b')], 'elsewhere'));
      t.after(() => b.child.kill('SIGKILL'));
      await untilJoined(config, 'a', 'c');
      await until('b', () => b.stderr().includes('begins a new cluster'));
      assert.ok(fs.existsSync(join(scratch.directory, 'elsewhere', 'b')));
      const both = other(stage, [at('a'), at('b')]);
      const { stderr } = await run('status', both);
      assert.match(stderr, /a, c and b do not know each other: they are 2 clusters/);
      assert.doesNotMatch((await run('status', config)).stderr, /do not know/);
      assertCode(await run('stop', both, 'b'), 0);
      assertCode(await b.ended, 0);
      begin('b', both);
      await untilJoined(both, 'a', 'b', 'c');
    });
  });

  test('an agent begins no second cluster if those of its data directory hang', async (t) => {
    const stage = await stageOf(t, 'ab', 92);
    const { scratch, config, at, begin } = stage;
    begin('a');
    await untilJoined(config, 'a');
    process.kill(scratch.pid('a')!, 'SIGSTOP');
    const ended = await begin('b', other(stage, [at('b')])).ended;
    assertCode(ended, 5);
    assert.match(ended.stderr, /would begin a second cluster: a runs in the same data directory/);
    assertCode(await call(['kill', config, 'a']), 0);
    const next = begin('b', other(stage, [at('b')]));
    await until('b', () => next.stderr().includes('begins a new cluster'));
  });
});
