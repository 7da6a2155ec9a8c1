// docs/VIEWS.md is written by hand. These tests compare it with the schema: each view, each column
// in order, each skip reason and each kind of event.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { openInMemory } from '../../../agent/storage/file/database.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(resolve(root, 'docs/VIEWS.md'), 'utf8');

/** Names that a list in the section of a view explains: its columns first, then their values. */
function namesIn(view: string, list: 'columns' | 'values'): string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`\`${view}\``));
  assert.ok(section, `a section ${view}`);
  const lists = section.split('\n\n').filter((part) => part.startsWith('- `'));
  const items = lists[list === 'columns' ? 0 : 1]?.trim().split('\n');
  assert.ok(items, `a list of ${list} in ${view}`);
  return items.flatMap((item) =>
    [...item.split(':')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  );
}

/** Strings of a union type in the source. */
function unionOf(name: string, file: string): string[] {
  const source = readFileSync(resolve(root, 'agent/core/protocol', file), 'utf8');
  const [, union] = new RegExp(`export type ${name} =([^;]*);`).exec(source)!;
  return [...union!.matchAll(/'(\w+)'/g)].map(([, word]) => word!);
}

test('docs/VIEWS.md lists every view of the schema, and its columns in order', () => {
  const db = openInMemory();
  const views = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
    .pluck()
    .all();
  const sections = [...page.matchAll(/^## `(\w+)`/gm)].map(([, name]) => name);
  assert.deepEqual(sections.toSorted(), views);
  for (const view of views) {
    const columns = db.prepare(`SELECT * FROM ${view}`).columns();
    assert.deepEqual(
      namesIn(view, 'columns'),
      columns.map(({ name }) => name),
      view,
    );
  }
});

test('docs/VIEWS.md lists every skip reason and every kind of event', () => {
  assert.deepEqual(
    namesIn('skipped', 'values').toSorted(),
    // The reason `elsewhere` has the name of a network in the file.
    [...unionOf('SkipReason', 'core-store.ts'), 'elsewhere'].toSorted(),
  );
  // An agent records `quarantine` at its start, before its core exists.
  const kinds = [...unionOf('EventKind', 'event-log.ts'), 'quarantine'];
  assert.deepEqual(namesIn('events', 'values').toSorted(), kinds.toSorted());
});
