// Real processes that know only contacts, which do not answer or have other settings.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Running, run, start, until, untilJoined } from './cli-process.ts';
import { assertCode } from './cluster-stage.ts';
import { stageOf } from './contacts-stage.ts';
import { makeQueuedState } from './queued-state.ts';

describe('contacts', { concurrency: 2 }, () => {
  // Each test continues with the agents of those before it.
  describe('of two agents', { concurrency: 1 }, () => {
    const cleanups: (() => unknown)[] = [];
    let stage: Awaited<ReturnType<typeof stageOf>>;
    let config: string;
    let first: Running;
    let again: Running;
    before(async () => {
      stage = await stageOf({ after: (what) => cleanups.push(what) }, 'abcd', 84);
      const written = JSON.parse(fs.readFileSync(stage.config, 'utf8')) as object;
      config = stage.scratch.write('renamed.json', { ...written, name: 'another' });
    });
    after(async () => {
      for (const cleanup of cleanups) await cleanup();
    });

    test('without an answer of a contact, an agent says so and waits for it', async () => {
      const { at, begin } = stage;
      const late = begin('b', config);
      const said = new RegExp(
        `has not joined: no agent answers at ${at('a')}: start one of these contacts, or correct ` +
          'cluster.contacts, for example if another program listens there; if the crawl is over .* ' +
          'there is nothing to join',
      );
      await until('the warning', () => said.test(late.stderr()));
      const { stdout } = await run('status', config);
      assert.match(stdout, /^b +joining /m);
      assert.match(stdout, new RegExp(`^b ${said.source}$`, 'm'));
      // Its capacity is that of a test below.
      first = begin('a', config, '--capacity', '2');
      await untilJoined(config, 'a', 'b');
    });

    test('an agent with other settings than its contact exits with 5 and names one', async () => {
      const { scratch, begin } = stage;
      const written = JSON.parse(fs.readFileSync(config, 'utf8')) as object;
      const other = scratch.write('other.json', { ...written, limits: { depthPerHost: 3 } });
      const refused = await begin('c', other, '--data', `${config}.other`).ended;
      assertCode(refused, 5);
      assert.match(
        refused.stderr,
        /agent a refused this one: limits\.depthPerHost is 3 here and 16 there; give all agents/,
      );
      await untilJoined(config, 'a', 'b');
    });

    test('an agent says that its contact has its identifier, or is the agent itself', async () => {
      const { scratch, at, begin } = stage;
      const written = JSON.parse(fs.readFileSync(config, 'utf8')) as { cluster: object };
      const contacts = [at('c').replace('127.0.0.1', 'localhost')];
      const selfish = { ...written, cluster: { ...written.cluster, contacts } };
      const c = begin('c', scratch.write('self.json', selfish), '--data', `${config}.c`);
      const other = scratch.write('other.json', { ...written, limits: { depthPerHost: 3 } });
      const twins = [config, other].map((file, k) => {
        const more = ['--listen', at('d').replace('127.0.0.1', `127.0.0.${2 + k}`)];
        return start(['agent', file, '--id', 'a', ...more, '--data', `${config}.b${k}`]);
      });
      const itself = `is this agent itself: write its address in cluster.contacts as ${at('c')}`;
      await until('the words of c', () => c.stderr().includes(itself));
      for (const twin of twins) {
        const said = `another agent a runs at ${at('a')}: stop that one, or start this one with`;
        await until('the words of the twin', () => twin.stderr().includes(said));
      }
      for (const { child } of [c, ...twins]) child.kill('SIGKILL');
    });

    test('an agent that restarts without its capacity says so, and finds its endpoint', async () => {
      const { scratch, kill } = stage;
      kill('a');
      await first.ended;
      assert.doesNotMatch(first.stderr(), /its capacity/);
      again = start(['agent', config, '--id', 'a']);
      const said = /^a: its capacity was 2 and is 1, so hosts move; --capacity changes it$/m;
      await until('the line', () => said.test(again.stderr()));
      await untilJoined(config, 'a', 'b');
      assert.notEqual(scratch.pid('a'), null);
    });

    test('stop asks the agents although the directory has only another crawl', async () => {
      const dataDir = path.join(stage.scratch.directory, 'other');
      makeQueuedState({ dataDir }, 'z', 'http://h.test/');
      const refused = await run('stop', config, 'z', '--data', dataDir);
      assertCode(refused, 4);
      assert.match(refused.stderr, /belongs to crawl 'cli-test'/);
      assertCode(await run('stop', config, '--data', dataDir), 0);
      assertCode(await again.ended, 11);
    });
  });

  test('owner and ring count agents that joined a list of agents', async (t) => {
    const stage = await stageOf(t, 'abc', 98);
    const agents = ['a', 'b'].map((id) => ({ id, listen: stage.at(id) }));
    const written = JSON.parse(fs.readFileSync(stage.config, 'utf8')) as { cluster: object };
    const mixed = { ...written, cluster: { ...written.cluster, agents } };
    const config = stage.scratch.write('mixed.json', mixed);
    const ownersIn = async () => {
      const { stdout, stderr } = await run('owner', config, 'h.test');
      return { ids: (JSON.parse(stdout) as { order: string[] }).order.sort().join(''), stderr };
    };
    const before = await ownersIn();
    assert.equal(before.ids, 'ab');
    assert.match(before.stderr, /no agent answers: only the agents that the config lists are coun/);
    start(['agent', config, '--id', 'a']);
    stage.begin('c', config, '--capacity', '2');
    await untilJoined(config, 'a', 'c');
    assert.deepEqual(await ownersIn(), { ids: 'abc', stderr: '' });
    const ring = await run('ring', config, '--json');
    const { agents: shares } = JSON.parse(ring.stdout) as { agents: { id: string }[] };
    assert.match(JSON.stringify(shares), /"id":"c","capacity":2,/);
  });
});
