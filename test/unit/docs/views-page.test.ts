// docs/VIEWS.md is written by hand and held to the schema here: each view, each column in its order,
// each reason of a skip and each kind of event.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { openInMemory } from '../../../agent/storage/file/database.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(resolve(root, 'docs/VIEWS.md'), 'utf8');

/** Names of the first column, of tables whose head is `| head |`, in the section of a view. */
function rowsOf(view: string, head: string): string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`\`${view}\``));
  assert.ok(section, `a section ${view}`);
  const table = section.split('\n\n').find((part) => part.startsWith(`| ${head} |`));
  assert.ok(table, `a table of ${head} in ${view}`);
  const rows = table.trim().split('\n').slice(2);
  return rows.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  );
}

/** Strings of a union type in the source. */
function unionOf(name: string): string[] {
  const source = readFileSync(resolve(root, 'agent/core/protocol/core-store.ts'), 'utf8');
  const [, union] = new RegExp(`export type ${name} =([^;]*);`).exec(source)!;
  return [...union!.matchAll(/'(\w+)'/g)].map(([, word]) => word!);
}

test('docs/VIEWS.md has every view of the schema and every column, in their order', () => {
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
      rowsOf(view, 'column'),
      columns.map(({ name }) => name),
      view,
    );
  }
});

test('docs/VIEWS.md has every reason of a skip and every kind of event', () => {
  assert.deepEqual(rowsOf('skipped', '`reason`').toSorted(), unionOf('SkipReason').toSorted());
  // The start of an agent writes this one, before there is a core.
  const kinds = [...unionOf('EventKind'), 'quarantine'];
  assert.deepEqual(rowsOf('events', '`kind`').toSorted(), kinds.toSorted());
});
