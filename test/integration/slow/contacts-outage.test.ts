// Real processes that know only contacts, after all of them were killed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { run, until, untilJoined } from '../cli-process.ts';
import { stageOf } from '../contacts-stage.ts';

test('agents without their contact begin when one of them becomes a contact', async (t) => {
  const { scratch, config, at, begin, kill } = await stageOf(t, 'abc', 95);
  const agents = [...'abc'].map((id) => begin(id));
  await untilJoined(config, ...'abc');
  for (const id of 'abc') kill(id);
  for (const { ended } of agents) await ended;
  fs.rmSync(`${scratch.dataDir}/a`, { recursive: true });
  const b = begin('b');
  const c = begin('c');
  const said = new RegExp(
    `c waits, too: only a contact begins a cluster; start one of ${at('a')}; if none can be ` +
      'started, add the address of one agent that waits to cluster.contacts, and restart that agent',
  );
  await until('the warning', () => said.test(b.stderr()));
  const written = JSON.parse(fs.readFileSync(config, 'utf8')) as { cluster: object };
  const cluster = { ...written.cluster, contacts: [at('a'), at('b')] };
  const corrected = scratch.write('corrected.json', { ...written, cluster });
  kill('b');
  await b.ended;
  begin('b', corrected);
  await untilJoined(corrected, 'b', 'c');
  assert.equal(c.child.exitCode, null, 'c was not restarted');
  assert.match((await run('status', config)).stdout, /^c +/m);
});
