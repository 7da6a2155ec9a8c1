import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { startWeb } from '../web/server.ts';
import { run, Scratch, start, until, untilAsked } from './cli-process.ts';
import { net } from './cluster-file-stage.ts';

test('cluster.json: its loss splits no cluster, and a refused launch does not write it', async (context) => {
  const scratch = new Scratch();
  const web = await startWeb({ hosts: 6, pages: 12, port: 0, net, sparse: true });
  context.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const failureDetector = { heartbeatMs: 100, suspectAfterMs: 2000 };
  const config = await scratch.config(0, {
    seeds: [web.seed],
    politeness: { hostDelayMs: 1500 },
    cluster: { agents: 2, failureDetector },
  });
  const launch = start(['launch', config]);
  const endpoint = path.join(scratch.dataDir, 'a2', 'agent.endpoint');
  await until('both agents', () => scratch.pid('a1') !== null && scratch.pid('a2') !== null);
  const file = path.join(scratch.dataDir, 'cluster.json');
  const [, port] = JSON.parse(fs.readFileSync(file, 'utf8')).agents.map(
    (a: { port: number }) => a.port,
  );
  assert.equal(fs.readFileSync(endpoint, 'utf8'), `tcp://127.0.0.1:${port}\n`);
  fs.rmSync(file);

  const second = await run('launch', config);
  assert.equal(second.code, 4, second.stderr);
  assert.match(second.stderr, /in use by a running agent/);
  assert.equal(fs.existsSync(file), false);

  process.kill(scratch.pid('a2')!, 'SIGKILL');
  await until('its end', () => launch.stderr().includes('a2 was killed'));
  const again = start(['agent', config, '--id', 'a2']);
  const members = async () => {
    const { stdout, code } = await run('status', config, '--json');
    if (code !== 0) return 0;
    const { agents } = JSON.parse(stdout) as { agents: { members: unknown[]; joined: boolean }[] };
    return agents.filter((agent) => agent.joined && agent.members.length === 1).length;
  };
  await untilAsked('both agents in one cluster', async () => (await members()) === 2);

  const stopped = await run('stop', config);
  assert.equal(stopped.code, 0, stopped.stderr);
  assert.equal((await again.ended).code, 11);
  await launch.ended;
});
