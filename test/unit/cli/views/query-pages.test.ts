// The order of a list whose rows come from several machines, and lists from damaged files.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import Database from 'better-sqlite3';
import { openStateFile } from '../../../../agent/cli/common/query-files.ts';
import { hostsPage, mergedHosts } from '../../../../agent/cli/views/query-pages.ts';
import { urlsPage } from '../../../../agent/cli/views/url-pages.ts';
import type { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
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
  const first = mergedHosts(pages, query, []);
  assert.deepEqual(hostsOf(first), ['a', 'b', 'c']);
  assert.deepEqual(first.problems, ['a3: silent']);
  assert.notEqual(first.next, null);
  const whole = mergedHosts(pages, { ...query, limit: 5 }, []);
  assert.deepEqual(hostsOf(whole), ['a', 'b', 'c', 'd', 'e']);
  assert.equal(whole.next, null);
  assert.deepEqual(hostsOf(mergedHosts(pages, { sort: 'host', limit: 9 }, [])), [
    'a',
    'b',
    'c',
    'd',
    'e',
  ]);
  const cut = [page([['a', 4]], 'more')];
  assert.notEqual(mergedHosts(cut, { sort: 'pages_queued', limit: 1 }, []).next, null);
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
    hostsPage(config, query, []),
    urlsPage(config, 'frontier', { host: 'a1.test', limit: 9 }, []),
    urlsPage(config, 'frontier', { host: 'a2.test', limit: 9 }, []),
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

it('a host in the files of two agents is listed once, for the agent that answers', (t) => {
  const hosts = ['h1.test', 'h2.test', 'h3.test'];
  const { config } = crawlOf(t, ['a1', 'a2'], (store, id) => {
    for (const host of hosts) {
      store.enqueue(host, { url: `http://${host}/${id}`, depth: 0 }, null);
    }
  });
  for (const living of ['a1', 'a2']) {
    for (const limit of [1, 2, 3, 9]) {
      const query = { sort: 'pages_queued', limit } as const;
      const seen: unknown[] = [];
      let after: string | undefined;
      do {
        const { rows, next } = hostsPage(config, { ...query, after }, [living]);
        seen.push(...rows.map(({ agent, host }) => `${agent} ${host}`));
        after = next ?? undefined;
      } while (after !== undefined);
      const once = hosts.map((host) => `${living} ${host}`);
      assert.deepEqual(seen, once);
    }
    const { rows } = urlsPage(config, 'frontier', { host: 'h2.test', limit: 9 }, [living]);
    assert.deepEqual(
      rows.map(({ url }) => url),
      [`http://h2.test/${living}`],
    );
  }
  const ofDead = hostsPage(config, { agent: 'a1', sort: 'host', limit: 9 }, ['a2']);
  assert.deepEqual(ofDead.rows, []);
});

it('if no agent answers, a host is listed for the agent with the most of its URLs', (t) => {
  const { config } = crawlOf(t, ['a1', 'a2'], (store, id) => {
    for (const n of id === 'a1' ? [1] : [1, 2]) {
      store.enqueue('h.test', { url: `http://h.test/${n}`, depth: 0 }, null);
    }
  });
  const { rows } = hostsPage(config, { sort: 'host', limit: 9 }, []);
  assert.deepEqual(
    rows.map(({ agent }) => agent),
    ['a2'],
  );
  assert.equal(urlsPage(config, 'frontier', { host: 'h.test', limit: 9 }, []).holder, 'a2');
});

it('a host that moves while the files are opened is listed', (t) => {
  const enqueue = (store: SqliteStore) => {
    store.enqueue('h.test', { url: 'http://h.test/', depth: 0 }, null);
  };
  const { config, fileOf, change } = crawlOf(t, ['a1', 'a2'], (store, id) => {
    if (id === 'a2') enqueue(store);
  });
  // As agents that run have them open.
  for (const id of ['a1', 'a2']) {
    const db = new Database(fileOf(id));
    db.prepare('SELECT count(*) FROM host_rows').get();
    t.after(() => db.close());
  }
  let opened = 0;
  const { rows } = hostsPage(config, { sort: 'host', limit: 9 }, ['a1', 'a2'], (id, path) => {
    if (id === 'a2' && opened++ === 0) {
      change('a1', enqueue);
      change('a2', (store) => store.deleteHost('h.test'));
    }
    return openStateFile(id, path);
  });
  assert.deepEqual(
    rows.map(({ agent, host }) => [agent, host]),
    [['a1', 'h.test']],
  );
});

it('files are closed if one cannot be compared, and are read if it is only damaged', (t) => {
  const { config, fileOf } = crawlOf(t, ['a1', 'a2'], () => {});
  const db = new Database(fileOf('a1'));
  db.prepare('SELECT count(*) FROM host_rows').get();
  t.after(() => db.close());
  const left = new Set<string>();
  let failure: Error = new Error('other');
  const open = (id: string, path: string) => {
    const file = openStateFile(id, path);
    assert.ok(typeof file !== 'string');
    left.add(id);
    const first = () => {
      throw failure;
    };
    const close = () => {
      left.delete(id);
      file.close();
    };
    return { ...file, first, close };
  };
  const list = () => hostsPage(config, { sort: 'host', limit: 9 }, [], open);
  assert.throws(list, { message: 'other' });
  assert.deepEqual([...left], []);
  // A later read of the file reports the damage.
  failure = new Database.SqliteError('malformed', 'SQLITE_CORRUPT');
  assert.deepEqual(list(), { rows: [], next: null, problems: [] });
  assert.deepEqual([...left], []);
});

it('a host on two machines is listed once: of the living agent, else with the latest fetch', () => {
  const row = (agent: string, last_fetch_at: number) => {
    return { rows: [{ agent, host: 'h', last_fetch_at }], next: null, problems: [] };
  };
  const pages = [row('a1', 2), row('a2', 1)];
  const agentOf = (living: readonly string[]) => {
    return mergedHosts(pages, { sort: 'host', limit: 9 }, living).rows.map(({ agent }) => agent);
  };
  assert.deepEqual(agentOf(['a2']), ['a2']);
  assert.deepEqual(agentOf([]), ['a1']);
  const cut = mergedHosts([...pages, page([['i', 0]])], { sort: 'host', limit: 1 }, ['a2']);
  assert.deepEqual(
    cut.rows.map(({ agent }) => agent),
    ['a2'],
  );
  assert.notEqual(cut.next, null);
});
