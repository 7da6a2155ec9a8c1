// The process that serves HTTP, when it ends.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { startHttp } from '../../../../agent/cli/http/http-process.ts';

const config = { monitor: { tokens: null } } as unknown as ResolvedConfig;

/** The process that this one has started to serve HTTP. */
function worker(): number {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const [, pid] = new RegExp(`^ *(\\d+) +${process.pid} .*http-worker`, 'm').exec(all)!;
  return Number(pid);
}

test('a port that another program takes from a killed process is not named', {
  timeout: 60_000,
}, async (t) => {
  const told: string[] = [];
  const listen = { host: '127.0.0.1', port: 0 };
  const onError = (message: string) => told.push(message);
  const http = startHttp({ config, listen, env: {}, version: '1', onError });
  assert.ok(typeof http !== 'string');
  // The process that serves does not keep this one running.
  const staying = setInterval(() => {}, 1000);
  const stranger = createServer();
  t.after(() => {
    clearInterval(staying);
    http.close();
    stranger.close();
  });
  const first = await http.url;
  assert.equal(http.served, first);
  process.kill(worker(), 'SIGKILL');
  while (http.served !== null) await setImmediate(null, { signal: t.signal });
  stranger.listen(Number(new URL(first).port), '127.0.0.1');
  await once(stranger, 'listening');
  while (http.served === null) await setImmediate(null, { signal: t.signal });
  assert.notEqual(http.served, first);
  assert.deepEqual(told, [
    'the HTTP server has ended (SIGKILL), and is started again',
    `the dashboard is served at ${http.served} now: the port was taken`,
  ]);
});
