import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { WIRE_VERSION } from '../../../agent/messaging/checks/limits.ts';
import { MIGRATIONS } from '../../../agent/storage/schema/migrations.ts';

test('CHANGELOG.md names the present versions of messages and state files', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../../CHANGELOG.md'), 'utf8');
  const [, wire] = /^- Wire version (\d+)\./m.exec(page) ?? [];
  const [, schema] = /^- Schema (\d+)\./m.exec(page) ?? [];
  assert.deepEqual([Number(wire), Number(schema)], [WIRE_VERSION, MIGRATIONS.length]);
});
