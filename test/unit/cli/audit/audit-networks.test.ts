import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addNetworks as addAll,
  mismatchOf,
  type Network,
} from '../../../../agent/cli/audit/audit-networks.ts';
import { networksText } from '../../../../agent/cli/audit/audit-networks-text.ts';
import type { Audit } from '../../../../agent/cli/audit/audit-report.ts';
import type { StateFile } from '../../../../agent/cli/common/query-files.ts';
import { AUDIT_ROWS } from '../../../../agent/storage/reads/audit-queries.ts';

/** State and reason by path. */
type Urls = Readonly<Record<string, readonly [state: number, reason?: string]>>;

/** The file of agent a1, which both networks have. */
function fileOf(urls: Urls): StateFile {
  const rows = Object.entries(urls).map(([path, [state, reason = null]]) => {
    const record = state === 1 ? [1, 200, 5] : state === 2 ? [1, null, 5] : [null, null, null];
    return ['h.test', 1, 0, 0, `h/${path}`, state, 1, reason, ...record, 0, null];
  });
  const plainRows = (sql: string) => (sql === AUDIT_ROWS ? rows : []).values();
  return { agent: 'a1', path: '', plainRows } as unknown as StateFile;
}

type Configs = Parameters<typeof addAll>[1];

/** Of networks whose configs agree. */
function addNetworks(networks: readonly Network[]) {
  const names = networks.map(({ network }) => network);
  return addAll(
    networks,
    names.map((network) => configOf(network, names)),
  );
}

function configOf(network: string, names: readonly string[], leaseMs = 1, urls = {}) {
  const named = Object.fromEntries(names.map((name) => [name, '']));
  const dedup = { network, networks: named, leaseMs };
  return { file: `${network}.yaml`, dedup, urls } as unknown as Configs[number];
}

function networkOf(network: string, complete: boolean, urls: Urls): Network {
  const audit = { ...emptyAudit, complete };
  const owners = { view: ['a1'], complete, owner: () => 'a1' };
  return { network, audit, files: [fileOf(urls)], owners };
}

const emptyAudit: Audit = {
  ...{ ok: true, complete: true, known: 0, done: 0, queued: 0, onTheWay: 0, skipped: {} },
  ...{ skippedTotal: 0, failed: 0, serverErrors: 0, hostsUnreachable: 0, unsettled: 0, hosts: 0 },
  copies: { wanted: 1, hostsWithFew: 0, ahead: 0, behind: 0 },
  ...{ agents: [], unchecked: {} },
  problems: { count: 0, list: [] },
  warnings: { count: 0, list: [] },
};

test('audit of networks: each URL counts once, for the network that has it', () => {
  const { ok, all } = addNetworks([
    networkOf('berlin', true, {
      ...{ a: [1], b: [3, 'elsewhere paris'], c: [2], d: [3, 'robots'], e: [3, 'elsewhere paris'] },
      f: [3, 'robots'],
    }),
    networkOf('paris', true, {
      a: [3, 'elsewhere berlin'],
      b: [1],
      d: [3, 'depth'],
      e: [2],
      f: [1],
    }),
  ]);
  assert.equal(ok, true);
  const { known, done, queued, skipped, failed, outside } = all;
  assert.deepEqual([known, done, queued, skipped, failed, outside], [6, 3, 0, 1, 2, 0]);
  assert.deepEqual(all.fetchedBy, { berlin: 2, paris: 3 });
  assert.deepEqual([all.overlap.count, all.open, all.missing.count], [0, 0, 0]);
});

test('audit of networks: names URLs that two networks fetched, which is no error', () => {
  const both = addNetworks([
    networkOf('berlin', true, { a: [1], b: [2] }),
    networkOf('paris', true, { a: [1], b: [1] }),
  ]);
  assert.deepEqual([both.ok, both.all.known, both.all.done], [true, 2, 2]);
  assert.deepEqual(both.all.overlap, {
    count: 2,
    examples: ['http://h.test/a', 'http://h.test/b'],
  });
  assert.match(
    networksText(both),
    /fetched by several: 2, which is no error: a network or its Redis had not answered\n {2}http:\/\/h\.test\/a\n/,
  );
});

test('audit of networks: a URL that nobody has is lost once a network is complete', () => {
  const berlin: Urls = { a: [3, 'elsewhere paris'], b: [3, 'elsewhere paris'] };
  const paris: Urls = { a: [3, 'robots'] };
  const running = addNetworks([
    networkOf('berlin', false, berlin),
    networkOf('paris', false, paris),
  ]);
  assert.deepEqual([running.ok, running.all.missing.count, running.all.lost.count], [true, 2, 0]);
  for (const [first, second] of [
    [true, false],
    [false, true],
  ] as const) {
    const over = addNetworks([
      networkOf('berlin', first, berlin),
      networkOf('paris', second, paris),
    ]);
    assert.deepEqual([over.ok, over.all.lost.count, over.all.known], [false, 2, 2]);
    assert.match(networksText(over), /missing +2 {2}2 of them lost/);
    assert.match(networksText(over), /do NOT agree/);
  }
});

test('audit of networks: two networks that leave a URL to each other lose it', () => {
  const { ok, all } = addNetworks([
    networkOf('berlin', true, { a: [3, 'elsewhere paris'] }),
    networkOf('paris', true, { a: [3, 'elsewhere berlin'] }),
  ]);
  assert.deepEqual([ok, all.lost.examples], [false, ['http://h.test/a']]);
});

test('audit of networks: a URL that waits for another network is queued and open', () => {
  const { ok, all } = addNetworks([
    networkOf('berlin', false, { a: [0, 'paris'], b: [0, 'paris'], c: [3, 'elsewhere paris'] }),
    networkOf('paris', false, { a: [0], b: [1], c: [0] }),
  ]);
  assert.deepEqual([ok, all.queued, all.done, all.open], [true, 2, 1, 2]);
});

test('audit of networks: counts URLs left to networks that are not among the files', () => {
  const together = addNetworks([
    networkOf('berlin', true, {
      ...{ a: [3, 'elsewhere rome'], b: [3, 'elsewhere rome'], c: [3, 'elsewhere oslo'] },
    }),
    networkOf('paris', true, { a: [3, 'elsewhere rome'], b: [1] }),
  ]);
  const { ok, all } = together;
  assert.deepEqual([ok, all.outside, all.done, all.missing.count], [true, 2, 1, 0]);
  // Networks without config may have finished them.
  assert.equal(all.open, 0);
  assert.deepEqual(all.leftOutside, { rome: 1, oslo: 1 });
  assert.match(
    networksText(together),
    /outside +2 {2}left to networks without config: rome 1, oslo 1\n/,
  );
});

test('audit of networks: names networks without config, and settings that differ', () => {
  const networks = [networkOf('berlin', true, { a: [1] }), networkOf('paris', true, {})];
  const names = ['berlin', 'paris', 'rome'];
  const all = addNetworks(networks);
  assert.deepEqual([all.all.absent, all.all.differing], [[], []]);
  assert.match(networksText(all), /\nfetched by several: 0\nthe numbers of all networks agree\n$/);
  const some = addAll(networks, [
    configOf('berlin', names),
    configOf('paris', names, 2, { dropTracking: true }),
  ]);
  assert.deepEqual([some.ok, some.all.absent], [true, ['rome']]);
  assert.match(
    networksText(some),
    /without rome: add the configs of all networks\nthe configs differ in dedup\.leaseMs and urls, .*\nthe numbers of these networks agree\n$/,
  );
});

test('audit of networks: names scopes that differ, because links may be missing', () => {
  const networks = [networkOf('berlin', true, { a: [1] }), networkOf('paris', true, {})];
  const [berlin, paris] = ['berlin', 'paris'].map((name) => configOf(name, ['berlin', 'paris']));
  const scope = { hosts: ['a.test'], include: [], exclude: [] };
  const all = addAll(networks, [berlin!, { ...paris!, scope }]);
  assert.deepEqual([all.ok, all.all.differing, all.all.unlike], [true, [], ['scope']]);
  assert.match(networksText(all), /\nthe configs differ in scope: .* links .* may be missing\n/);
});

test('audit of networks: the configs must be of different networks of one crawl', () => {
  const networks = { berlin: 'redis://127.0.0.1:1', paris: 'redis://127.0.0.1:2' };
  type Parts = { file: string; name?: string; dedup?: object; dataDir?: string };
  const config = ({ file, name = 'c', dedup = {}, dataDir = file }: Parts) => {
    const own = { mode: 'redis', network: file, networks, ...dedup };
    return { file, name, dedup: own, agent: { dataDir } } as unknown as Parameters<
      typeof mismatchOf
    >[0][number];
  };
  const berlin = config({ file: 'berlin' });
  assert.equal(mismatchOf([berlin, config({ file: 'paris' })]), null);
  const cases: [Parts, RegExp][] = [
    [{ file: 'paris', name: 'd' }, /is of crawl 'd', but berlin is of 'c'/],
    [{ file: 'paris', dedup: { networks: { paris: '' } } }, /names other networks/],
    [{ file: 'x', dedup: { network: 'berlin' } }, /of network berlin, as is berlin/],
    [{ file: 'paris', dedup: { mode: 'none' } }, /shares its crawl with no other network/],
    [{ file: 'paris', dataDir: 'berlin' }, /same agent\.dataDir as berlin/],
  ];
  for (const [parts, says] of cases) assert.match(mismatchOf([berlin, config(parts)])!, says);
});
