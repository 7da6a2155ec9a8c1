import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { HostTroubles } from '../../../../agent/storage/reads/host-troubles.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

type Kind = 'rules' | 'allowAll' | 'unreachable';

function crawl() {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 100 });
  const troubles = new HostTroubles(db, { slowed: 50, stopped: 1000 });
  const none = { fetchedAt: 50, body: null, attempts: 1, reason: '' };
  const inTurn = (change: () => void) => {
    store.begin();
    change();
    store.commit(false);
  };
  return {
    look: () => troubles.look().hostsAwaitingRobots,
    traps: () => troubles.look().traps,
    score: (host: string, stale: number) => store.saveHost({ ...store.host(host), stale }, null),
    inTurn,
    queue: (host: string) => store.enqueue(host, { url: `http://${host}/`, depth: 0 }, null),
    skip: (host: string) => store.skip(store.host(host).number, `http://${host}/`, 'robots'),
    robots: (host: string, kind: Kind, retryAt = 99, port = '') => {
      const record = { kind, ...none, retryAt };
      store.saveRobots(store.host(host).number, `http://${host}${port}`, record);
    },
  };
}

test('host troubles: counts each host once that has a queue and retries a robots.txt', () => {
  const { look, inTurn, queue, skip, robots } = crawl();
  assert.equal(look(), 0);
  inTurn(() => {
    for (const host of ['new', 'good', 'none', 'bad', 'lost', 'empty']) queue(host);
    robots('good', 'rules', 0);
    robots('none', 'allowAll', 0);
    robots('bad', 'unreachable');
    robots('bad', 'unreachable', 99, ':81');
    robots('lost', 'unreachable', Infinity);
    robots('empty', 'unreachable');
    skip('empty');
  });
  assert.equal(look(), 1);
  inTurn(() => robots('good', 'unreachable', 99, ':81'));
  assert.equal(look(), 2);
  inTurn(() => robots('bad', 'rules', 0));
  assert.equal(look(), 2, 'the host still waits for its other origin');
  inTurn(() => robots('bad', 'allowAll', 0, ':81'));
  assert.equal(look(), 1);
});

test('host troubles: checks some of many hosts at each reading, and none twice', () => {
  const { look, inTurn, queue, robots } = crawl();
  inTurn(() => {
    for (let k = 0; k < 1200; k++) {
      queue(`h${k}`);
      robots(`h${k}`, k % 2 === 0 ? 'unreachable' : 'rules');
    }
  });
  assert.deepEqual([look(), look(), look()], [0, 0, 600]);
  inTurn(() => robots('h0', 'rules', 0));
  assert.deepEqual([look(), look(), look()], [600, 600, 599]);
});

test('host troubles: counts hosts that are slowed down or stopped because their pages repeat', () => {
  const { traps, inTurn, queue, skip, score } = crawl();
  assert.equal(traps(), null);
  inTurn(() => {
    for (const host of ['new', 'some', 'slowed', 'done', 'stopped', 'skipped']) queue(host);
    score('some', 49);
    score('slowed', 50);
    score('done', 999);
    score('stopped', 1000);
    score('skipped', 1001);
    skip('done');
    skip('skipped');
  });
  assert.deepEqual(traps(), { slowed: 1, stopped: 2, host: 'skipped' });
  inTurn(() => ['slowed', 'stopped', 'skipped'].map((host) => score(host, 0)));
  assert.equal(traps(), null);
});
