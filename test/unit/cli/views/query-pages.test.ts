// The order of a list whose rows come from several machines, and lists from damaged files.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hostsPage, mergedHosts, urlsPage } from '../../../../agent/cli/views/query-pages.ts';
import { crawlOf, damage } from './state-files.ts';

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

it('a damaged file is named with its remedy, and the rows of the others are listed', (t) => {
  const ids = ['a1', 'a2'];
  const { config, fileOf } = crawlOf(t, ids, (store, id) => {
    for (let k = 0; k < 300; k++) {
      const url = `http://${id}.test/${k}`;
      store.enqueue(`${id}.test`, { url, depth: 0 }, null);
    }
  });
  const query = { sort: 'host', limit: 9 } as const;
  const lists = () => [
    hostsPage(config, query),
    urlsPage(config, 'frontier', { host: 'a1.test', limit: 9 }),
    urlsPage(config, 'frontier', { host: 'a2.test', limit: 9 }),
  ];
  assert.deepEqual(
    lists().map(({ rows, problems }) => [rows.length, problems.length]),
    [
      [2, 0],
      [9, 0],
      [9, 0],
    ],
  );
  const text = /a2\/state\.sqlite is damaged \(.*\); start the agent: .* --id a2/;
  damage(fileOf('a2'), 'urls');
  const [whole, ofSound, ofDamaged] = lists();
  assert.deepEqual([hostsOf(whole!), whole?.problems], [['a1.test', 'a2.test'], []]);
  assert.equal(ofSound?.rows.length, 9);
  assert.deepEqual(ofDamaged?.rows, []);
  assert.match(String(ofDamaged?.problems), text);
  damage(fileOf('a2'), 'host_rows');
  const [hosts] = lists();
  assert.deepEqual(hostsOf(hosts!), ['a1.test']);
  assert.match(String(hosts?.problems), text);
});
