// Redis Sentinels of a test.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { freePort } from '../../../bench/ports.ts';
import { lookMs } from './networks-stage.ts';

/**
 * @param more - further lines of its configuration
 * @returns the port of a Sentinel of the server at a port; it runs until the end of the test
 */
export async function startSentinel(master: number, ...more: readonly string[]): Promise<number> {
  const port = await freePort();
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-sentinel-'));
  const file = path.join(directory, 'sentinel.conf');
  const about = [
    ...[`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`],
    `sentinel monitor main 127.0.0.1 ${master} 2`,
    ...['sentinel down-after-milliseconds main 500', 'sentinel failover-timeout main 2000'],
    ...more,
  ];
  fs.writeFileSync(file, `${about.join('\n')}\n`);
  const child = spawn('redis-server', [file, '--sentinel'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  after(async () => {
    child.kill('SIGKILL');
    await ended;
    // It writes there until it has ended.
    fs.rmSync(directory, { recursive: true, force: true });
  });
  for await (const chunk of child.stdout) if (String(chunk).includes('+monitor master')) break;
  return port;
}

/** Waits until the Sentinels know the replica and one another: it asks now and then. */
export async function untilKnown(ports: readonly number[], replica: number): Promise<void> {
  for (const port of ports) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` });
    client.on('error', () => {});
    await client.connect();
    for (;;) {
      const said = await client.sendCommand(['SENTINEL', 'REPLICAS', 'main']);
      const sentinels = (await client.sendCommand(['SENTINEL', 'SENTINELS', 'main'])) as unknown[];
      const isKnown = JSON.stringify(said).includes(`"${replica}"`);
      if (isKnown && sentinels.length === ports.length - 1) break;
      await pause(lookMs);
    }
    client.destroy();
  }
}
