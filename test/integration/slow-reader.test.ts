// A command whose stdout is not read while an agent writes: the command must end its read
// transaction within a bounded time, and must print every row once stdout is read.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, test } from 'node:test';
import { openState } from '../../agent/storage/file/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { Scratch, until } from './cli-process.ts';

const main = path.resolve(import.meta.dirname, '../../agent/main.ts');
/** Makes about 5 MB of output, far more than a pipe and its ends can hold. */
const URLS = 20_000;

describe('a slow reader', () => {
  let clean = () => {};
  afterEach(() => clean());

  const commands = [
    ['query', 'SELECT url, host FROM frontier', '--format', 'csv'],
    ['export', '--format', 'graph'],
  ] as const;
  for (const [command, ...words] of commands) {
    test(`${command}: a blocked stdout does not prevent the reuse of the write-ahead log`, async () => {
      const scratch = new Scratch();
      const config = await scratch.config(1);
      const directory = path.join(scratch.dataDir, 'a1');
      const state = openState({ directory, crawl: 'cli-test', agent: 'a1' });
      assert.ok(state.ok);
      const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 100 });
      let queued = 0;
      const queue = (count: number) => {
        store.begin();
        for (let left = count; left > 0; left--) {
          const k = queued++;
          const referrer = `http://h.test/${'from'.repeat(40)}/${k}`;
          store.enqueue('h.test', { url: `http://h.test/${k}`, depth: 1, referrer }, null);
        }
        store.commit(false);
      };
      queue(URLS);
      const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit'];
      const child = spawn(process.execPath, [main, command, config, ...words], { stdio });
      clean = () => {
        child.kill('SIGKILL');
        store.close();
        state.unlock();
        scratch.clean();
      };
      const isWalFree = () => {
        queue(1);
        const [result] = state.db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
        return result!.busy === 0;
      };
      // A checkpoint waits for readers as long as the connection waits for locks.
      state.db.pragma('busy_timeout = 50');
      await until('the command reads', () => !isWalFree());
      await until('the command has ended its read transaction', isWalFree);
      assert.equal(fs.statSync(path.join(directory, 'state.sqlite-wal')).size, 0);
      assert.equal(child.exitCode, null);
      const lines = (await text(child.stdout)).split('\n').length;
      assert.ok(lines >= URLS, `${lines} lines`);
    });
  }
});
