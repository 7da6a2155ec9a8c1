import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventKind } from '../../../../agent/core/protocol/event-log.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { GoneAgents } from '../../../../agent/storage/reads/gone-agents.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

function events() {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 100 });
  const record = (at: number, kind: EventKind, detail: object) => {
    store.begin();
    store.event(at, kind, { ...detail });
    store.commit(false);
  };
  return { record, gone: () => new GoneAgents(db) };
}

test('gone agents: the last event about each counts, however many others follow', () => {
  const { record, gone } = events();
  const all = gone();
  assert.deepEqual(all.look(['a1'], 0), []);
  record(1, 'join', { agent: 'a2' });
  record(2, 'join', { agent: 'a3' });
  record(3, 'leave', { agent: 'a2' });
  assert.deepEqual(all.look(['a1', 'a3'], 10), [{ id: 'a2', kind: 'leave', ageMs: 7 }]);
  for (let at = 4; at < 300; at++) record(at, 'order', { order: 'pause' });
  record(300, 'suspect', { agent: 'a3' });
  const both = [
    { id: 'a2', kind: 'leave', ageMs: 997 },
    { id: 'a3', kind: 'suspect', ageMs: 700 },
  ];
  assert.deepEqual(all.look(['a1'], 1000), both);
  assert.deepEqual(gone().look(['a1'], 1000), both, 'after a restart');
  record(400, 'join', { agent: 'a2' });
  assert.deepEqual(all.look(['a1', 'a3'], 400), [{ id: 'a2', kind: 'join', ageMs: 0 }]);
});

test('gone agents: an event of a clock that was ahead is not the newest', () => {
  const { record, gone } = events();
  record(5000, 'leave', { agent: 'a2' });
  assert.deepEqual(gone().look([], 1000), [{ id: 'a2', kind: 'leave', ageMs: 4000 }]);
});

test('gone agents: of many, those that have left are reported', () => {
  const { record, gone } = events();
  record(0, 'leave', { agent: 'first' });
  for (let n = 1; n <= 150; n++) record(n, 'join', { agent: `a${n}` });
  const found = gone().look([], 150);
  assert.deepEqual([found.length, found[0]?.id, found[1]?.id], [100, 'first', 'a150']);
});

test('gone agents: a look reads so many events, and the next one goes on', () => {
  const { record, gone } = events();
  for (let n = 0; n < 12_000; n++) record(n, 'join', { agent: 'a2' });
  record(12_000, 'leave', { agent: 'a2' });
  const all = gone();
  assert.equal(all.look([], 12_000)[0]?.kind, 'join');
  assert.equal(all.look([], 12_000)[0]?.kind, 'leave');
});
