// Which fetched pages are settled, depending on their links and on the copies of their hosts.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';
import { type LinkPlaces, Settlement } from '../../../../agent/core/replication/settlement.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { SUSPECT_MS } from '../../../simulation/cluster.ts';

const at = (mono: number) => ({ mono, wall: mono });
/** All rows have been copied. */
const COPIED = { isSafe: () => true, isQuiet: true };

const SETTLING = { bounds: { ...BOUNDS, unreplicated: Infinity }, suspectAfterMs: SUSPECT_MS };

describe('settlement', () => {
  it('settles pages of an earlier run when all entries of its outbox have left', () => {
    const store = new SqliteStore(openInMemory(), { durability: 'process', hostDelayMs: 1 });
    const page = { status: 200, error: null, contentType: null, bytes: 0, digest: null };
    const record = { ...page, fetchedAt: 0, durationMs: 0, redirectTo: null, attempts: 1 };
    for (const url of ['http://h.test/old', 'http://h.test/new']) {
      store.enqueue('h.test', { url, depth: 0 }, null);
    }
    store.recordPage(store.host('h.test').number, { ...record, url: 'http://h.test/old' });
    const first = store.addToOutbox('x.test', 'b', { url: 'http://x.test/1', depth: 0 });
    const settlement = new Settlement({ joined: true }, store, COPIED, SETTLING);
    const pump = () => {
      settlement.pump();
      settlement.settleRestored();
    };
    settlement.restore(store.lastOutboxId());
    pump();
    assert.equal(settlement.isQuiet, false);
    store.recordPage(store.host('h.test').number, { ...record, url: 'http://h.test/new' });
    const later = store.addToOutbox('x.test', 'b', { url: 'http://x.test/2', depth: 0 });
    recorded(settlement, 'http://h.test/new', { outboxIds: new Set([later]), hosts: new Map() });
    store.removeFromOutbox([first]);
    // In the current view, some hosts may have backups that were not queried yet.
    settlement.pump();
    assert.equal(store.unsettled(9).length, 2);
    pump();
    assert.deepEqual(store.unsettled(9), [{ host: 'h.test', url: 'http://h.test/new' }]);
    settlement.left([later]);
    pump();
    assert.equal(settlement.isQuiet, true);
    assert.deepEqual(store.unsettled(9), []);
  });
});

/** Records a page of h.test whose links went to these places. */
function recorded(settlement: Settlement, url: string, places: LinkPlaces): void {
  const page = settlement.begin('h.test', url);
  settlement.linksWentTo(page, places);
  settlement.recorded(page, at(0));
}

describe('settlement with copies', () => {
  function page(isSafe: (host: string, n: number) => boolean, view = { joined: true }) {
    const store = new SqliteStore(openInMemory(), { durability: 'process', hostDelayMs: 1 });
    const url = 'http://h.test/p';
    store.enqueue('h.test', { url, depth: 0 }, null);
    const record = { url, status: 200, error: null, contentType: null, bytes: 0, digest: null };
    const rest = { fetchedAt: 0, durationMs: 0, redirectTo: null, attempts: 1 };
    store.recordPage(store.host('h.test').number, { ...record, ...rest });
    const settlement = new Settlement(view, store, { isSafe, isQuiet: true }, SETTLING);
    return { url, settlement, isSettled: () => store.unsettled(1).length === 0 };
  }

  it("a link to another host of this agent waits for that host's backups", () => {
    let safe = false;
    const { url, isSettled, settlement } = page(() => safe);
    recorded(settlement, url, { outboxIds: new Set(), hosts: new Map([['x.test', 7]]) });
    assert.equal(isSettled(), false);
    safe = true;
    settlement.progressed('x.test');
    assert.equal(isSettled(), true);
    assert.equal(settlement.isQuiet, true);
  });

  it('a link to a host with a new owner waits only until the owner has the link', () => {
    const { url, isSettled, settlement } = page(() => false);
    recorded(settlement, url, { outboxIds: new Set(), hosts: new Map([['x.test', 7]]) });
    settlement.returned('x.test');
    assert.equal(isSettled(), true);
    assert.equal(settlement.isQuiet, true);
  });

  it('a page whose rows were deleted here is never settled, even if its host returns', () => {
    const { url, isSettled, settlement } = page(() => true);
    recorded(settlement, url, { outboxIds: new Set([1]), hosts: new Map() });
    settlement.dropped('h.test');
    assert.equal(settlement.hasUnsettled('h.test'), false);
    settlement.left([1]);
    assert.equal(isSettled(), false);
    assert.equal(settlement.isQuiet, true);
  });

  it('does not settle a queued page', () => {
    const store = new SqliteStore(openInMemory(), { durability: 'process', hostDelayMs: 1 });
    const url = 'http://h.test/p';
    store.enqueue('h.test', { url, depth: 0 }, null);
    const before = store.lastNumber('h.test');
    store.settle('h.test', url);
    store.settle('unknown.test', url);
    assert.equal(store.lastNumber('h.test'), before);
    assert.deepEqual(store.hosts(), ['h.test']);
  });

  it('a link to the same host waits for nothing', () => {
    const { url, isSettled, settlement } = page(() => false);
    recorded(settlement, url, { outboxIds: new Set(), hosts: new Map([['h.test', 7]]) });
    assert.equal(isSettled(), true);
  });

  it('an outbox entry that returns here then waits for the backups of its host', () => {
    let safe = false;
    const { url, isSettled, settlement } = page(() => safe);
    recorded(settlement, url, { outboxIds: new Set([1]), hosts: new Map() });
    settlement.left([1], { host: 'x.test', n: 3 });
    assert.equal(isSettled(), false);
    safe = true;
    settlement.viewChanged();
    settlement.pump();
    assert.equal(isSettled(), true);
  });

  it('checks a page with links to thousands of hosts only a few times per link', () => {
    const hosts = Array.from({ length: 2500 }, (_, i) => `h${i}.test`);
    const unsafe = new Set(hosts);
    let looks = 0;
    const { url, isSettled, settlement } = page((host) => {
      looks++;
      return !unsafe.has(host);
    });
    const needs = new Map(hosts.map((host) => [host, 1]));
    recorded(settlement, url, { outboxIds: new Set(), hosts: needs });
    for (const host of hosts) {
      assert.equal(isSettled(), false);
      unsafe.delete(host);
      settlement.progressed(host);
    }
    assert.equal(isSettled(), true);
    assert.ok(looks <= 4 * hosts.length, `${looks} looks`);
  });

  it('waits again for a link that is no longer safe when the last one becomes safe', () => {
    const safe = new Set(['x.test']);
    const { url, isSettled, settlement } = page((host) => safe.has(host));
    const hosts = new Map([
      ['x.test', 7],
      ['y.test', 7],
    ]);
    recorded(settlement, url, { outboxIds: new Set(), hosts });
    safe.delete('x.test');
    safe.add('y.test');
    settlement.progressed('y.test');
    assert.equal(isSettled(), false);
    safe.add('x.test');
    settlement.progressed('x.test');
    assert.equal(isSettled(), true);
  });

  it('is full while 20,000 pages wait', () => {
    let safe = false;
    const { settlement } = page(() => safe);
    const places = { outboxIds: new Set<number>(), hosts: new Map([['x.test', 7]]) };
    for (let i = 0; i < 20_000; i++) {
      assert.equal(settlement.isFull(at(0)), false);
      recorded(settlement, `http://h.test/${i}`, places);
    }
    assert.equal(settlement.isFull(at(0)), true);
    safe = true;
    settlement.progressed('x.test');
    assert.equal(settlement.isFull(at(0)), false);
  });

  it('an acknowledgement checks only pages that it may settle, however many wait', () => {
    let safe = 0;
    let looks = 0;
    const { settlement } = page((_, n) => {
      looks++;
      return n <= safe;
    });
    for (let n = 1; n <= 5000; n++) {
      const places = { outboxIds: new Set<number>(), hosts: new Map([['x.test', n]]) };
      recorded(settlement, `http://h.test/${n}`, places);
    }
    for (safe = 10; safe <= 100; safe += 10) {
      looks = 0;
      settlement.progressed('x.test');
      assert.equal(settlement.count, 5000 - safe);
      assert.ok(looks < 50, `${looks} looks`);
    }
  });

  it('settles nothing before the join', () => {
    const { url, isSettled, settlement } = page(() => true, { joined: false });
    recorded(settlement, url, { outboxIds: new Set(), hosts: new Map() });
    assert.equal(isSettled(), false);
  });
});
