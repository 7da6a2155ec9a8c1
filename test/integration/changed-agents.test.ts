// `cluster.agents` is changed while the crawl runs. Commands reach all running agents, even if they
// are not in the config, and say how to start the others.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { stage } from './changed-agents-stage.ts';
import { run, start } from './cli-process.ts';

test('stop reaches an agent that only another config has, and no receipt needs it then', async (context) => {
  const { scratch, config, agents, setAgents, launch, inCluster } = await stage(context, false);
  const more = JSON.parse(fs.readFileSync(config, 'utf8'));
  more.agent.dataDir = 'elsewhere';
  const a3 = start(['agent', scratch.write('more.json', more), '--id', 'a3']);
  setAgents(agents.slice(0, 2));
  await inCluster('a1', 'a2', 'a3');
  const unknown = await run('stop', config, 'a4');
  assert.equal(unknown.code, 2, unknown.stderr);
  assert.match(unknown.stderr, /no agent a4 in .*, known: a1, a2, a3; check the ID/);
  const left = await run('stop', config, 'a3');
  assert.deepEqual([left.code, left.stdout], [0, 'a3: applied\n'], left.stderr);
  assert.equal((await a3.ended).code, 0);
  const completion = path.join(scratch.directory, 'elsewhere', 'complete.json');
  assert.equal(fs.existsSync(completion), false, 'to leave is not to complete');
  await inCluster('a1', 'a2');
  setAgents(agents);
  const receipt = await run('pause', config);
  assert.deepEqual([receipt.code, receipt.stdout], [0, 'a1: applied\na2: applied\n']);
  assert.doesNotMatch((await run('status', config)).stdout, /^pause .*a3/m);
  assert.equal((await run('stop', config)).code, 0);
  assert.equal((await launch.ended).code, 11);
});
