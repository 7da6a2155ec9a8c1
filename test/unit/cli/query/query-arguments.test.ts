import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryArguments } from '../../../../agent/cli/query/query-arguments.ts';

const of = (...words: string[]) => queryArguments(['node', 'main.ts', ...words]).slice(2);

test('query: does not take SQL that begins with a comment for an option', () => {
  const sql = '-- which pages\nSELECT 1';
  assert.deepEqual(of('query', 'c', sql), ['query', 'c', '--', sql]);
  assert.deepEqual(of('query', 'c', sql, '--json'), ['query', 'c', '--json', '--', sql]);
});

test('query: leaves options unchanged, even misspelt ones', () => {
  for (const words of [
    ['query', 'c', 'SELECT 1', '--frmat', 'json'],
    ['query', 'c', 'SELECT 1', '--format=csv'],
    ['query', 'c', '--data=/some where', 'SELECT 1'],
    ['query', 'c', '--', '-- x\nSELECT 1'],
    ['launch', 'c', '-- x'],
  ]) {
    assert.deepEqual(of(...words), words);
  }
});
