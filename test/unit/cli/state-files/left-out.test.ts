// Finds in real state files the work that a launch with fewer agents would leave behind.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { compareStates } from '../../../../agent/cli/state-files/left-out.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

/** URLs by their state; `outbox`: on their way to another agent. */
interface Known {
  readonly queued?: readonly string[];
  readonly done?: readonly string[];
  readonly skipped?: readonly string[];
  readonly outbox?: readonly string[];
}

function directory(context: TestContext): string {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-left-'));
  context.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

function open(dataDir: string, agent: string, crawl = 'c') {
  const state = openState({ directory: path.join(dataDir, agent), crawl, agent });
  assert.ok(state.ok);
  return state;
}

function write(dataDir: string, agent: string, known: Known, crawl = 'c'): void {
  const state = open(dataDir, agent, crawl);
  const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
  store.begin();
  const hostOf = (url: string) => new URL(url).hostname;
  const { queued = [], done = [], skipped = [], outbox = [] } = known;
  for (const url of [...queued, ...done]) store.enqueue(hostOf(url), { url, depth: 0 }, null);
  for (const url of skipped) store.enqueue(hostOf(url), { url, depth: 0 }, 'depth');
  for (const url of done) {
    store.recordPage(store.host(hostOf(url)).number, {
      ...{ url, status: 200, error: null, contentType: null, bytes: 1, digest: null },
      ...{ redirectTo: null, fetchedAt: 1, durationMs: 1, attempts: 1 },
    });
  }
  for (const url of outbox) store.addToOutbox(hostOf(url), 'a9', { url, depth: 0 });
  store.commit(true);
  store.close();
  state.unlock();
}

const u = (...names: string[]) => names.map((name) => `http://${name}`);

test('left out: counts URLs that no launched agent knows, and names their hosts', (context) => {
  const dataDir = directory(context);
  write(dataDir, 'a1', { queued: u('h1/a'), done: u('h1/b') });
  write(dataDir, 'a2', { queued: u('h2/a', 'h2/b', 'h3/a'), done: u('h2/c', 'h1/b') });
  const { leftOut, unknown } = compareStates(dataDir, 'c', ['a1']);
  const a2 = { agent: 'a2', hosts: 2, queued: 3, pages: 1, samples: ['h2', 'h3'] };
  assert.deepEqual([leftOut, unknown], [[a2], []]);
  assert.deepEqual(compareStates(dataDir, 'c', ['a1', 'a2']).leftOut, []);
});

test('left out: does not count URLs that a copy in the launch covers', (context) => {
  const dataDir = directory(context);
  write(dataDir, 'a1', { queued: u('h/a'), done: u('h/b', 'h/c'), skipped: u('h/d') });
  write(dataDir, 'a2', { queued: u('h/a', 'h/b', 'h/d'), done: u('h/c') });
  assert.deepEqual(compareStates(dataDir, 'c', ['a1']).leftOut, []);
  // Without a1, a2 would fetch one page again.
  const [a1] = compareStates(dataDir, 'c', ['a2']).leftOut;
  assert.deepEqual([a1?.agent, a1?.queued, a1?.pages], ['a1', 0, 1]);
});

test('left out: counts URLs in an outbox unless another agent has them', (context) => {
  const dataDir = directory(context);
  write(dataDir, 'a1', { queued: u('h/a'), outbox: u('g/b') });
  write(dataDir, 'a2', { outbox: u('h/a', 'g/b', 'f/c') });
  const [a2] = compareStates(dataDir, 'c', ['a1']).leftOut;
  assert.deepEqual(a2, { agent: 'a2', hosts: 1, queued: 1, pages: 0, samples: ['f'] });
});

test('left out: does not count running agents, or empty or foreign states', (context) => {
  const dataDir = directory(context);
  write(dataDir, 'a1', { queued: u('h1/a') });
  write(dataDir, 'a2', { queued: u('h2/a') });
  write(dataDir, 'b1', { queued: u('h3/a') }, 'another');
  write(dataDir, 'a3', {});
  fs.mkdirSync(path.join(dataDir, 'notes'));
  const running = open(dataDir, 'a2');
  context.after(() => running.db.close());
  assert.deepEqual(compareStates(dataDir, 'c', ['a1']).leftOut, []);
});

test('left out: reports a file that cannot be read', (context) => {
  const dataDir = directory(context);
  write(dataDir, 'a1', { queued: u('h1/a') });
  write(dataDir, 'a2', { queued: u('h2/a') });
  fs.writeFileSync(path.join(dataDir, 'a2', 'state.sqlite'), 'x'.repeat(9000));
  const { leftOut, unknown } = compareStates(dataDir, 'c', ['a1']);
  assert.deepEqual(leftOut, []);
  assert.match(unknown.join(), /a2: .* is damaged/);
});
