// The order of a list whose rows come from several machines.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mergedHosts } from '../../../../agent/cli/views/query-pages.ts';

const page = (
  hosts: readonly (readonly [string, number | null])[],
  next: string | null = null,
) => ({
  rows: hosts.map(([host, pages_queued]) => ({ host, pages_queued })),
  next,
  problems: hosts.length === 0 ? ['a3: silent'] : [],
});
const hostsOf = ({ rows }: { rows: readonly { host?: unknown }[] }) => rows.map(({ host }) => host);

it('merged pages are sorted as each page is, and continue if any has more', () => {
  const pages = [
    page([
      ['b', 9],
      ['d', 2],
    ]),
    page([
      ['a', 9],
      ['c', 5],
      ['e', null],
    ]),
    page([]),
  ];
  const query = { sort: 'pages_queued', limit: 3 } as const;
  const first = mergedHosts(pages, query);
  assert.deepEqual(hostsOf(first), ['a', 'b', 'c']);
  assert.deepEqual(first.problems, ['a3: silent']);
  assert.notEqual(first.next, null);
  const whole = mergedHosts(pages, { ...query, limit: 5 });
  assert.deepEqual(hostsOf(whole), ['a', 'b', 'c', 'd', 'e']);
  assert.equal(whole.next, null);
  assert.deepEqual(hostsOf(mergedHosts(pages, { sort: 'host', limit: 9 })), [
    'a',
    'b',
    'c',
    'd',
    'e',
  ]);
  const cut = [page([['a', 4]], 'more')];
  assert.notEqual(mergedHosts(cut, { sort: 'pages_queued', limit: 1 }).next, null);
});
