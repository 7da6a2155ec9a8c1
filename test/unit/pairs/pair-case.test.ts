import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { crowded, impolite, misrecorded, missing } from '../../pairs/pair-case.ts';
import { behaviour } from '../../web/behaviours.ts';

const origin = 'http://127.0.0.1:80';
const row = {
  way: 'http',
  ipDelayMs: '100',
  responseTimeFactor: '2',
  sitemaps: 'off',
  dropTracking: 'off',
};

/** A host that received a request for `/` at time 0 and one for `/1` at `secondMs`. */
function host(first: { endMs: number | null; waitMs?: number }, secondMs: number) {
  const log = [
    { path: '/', status: 200, startMs: 0, waitMs: 0, ...first },
    { path: '/1', status: 200, startMs: secondMs, endMs: secondMs, waitMs: 0 },
  ];
  return {
    name: 'plain' as const,
    hostname: '127.0.0.1',
    origin,
    behaviour: behaviour('plain'),
    log,
  };
}

function page(path: string, status: number | null, error: string | null = null) {
  return { url: origin + path, fetch_url: origin + path, host: '127.0.0.1', status, error };
}

describe('the oracle of the pair suite', () => {
  const gaps = [
    { name: 'a gap as long as the delay', end: { endMs: 10 }, second: 110, faults: 0 },
    { name: 'a gap below the delay', end: { endMs: 10 }, second: 60, faults: 1 },
    { name: 'twice the response time', end: { endMs: 200 }, second: 600, faults: 0 },
    { name: 'less than twice the response time', end: { endMs: 200 }, second: 500, faults: 1 },
    {
      name: 'an obeyed Retry-After',
      end: { endMs: 10, waitMs: 1000 },
      second: 1010,
      faults: 0,
    },
    { name: 'an ignored Retry-After', end: { endMs: 10, waitMs: 1000 }, second: 800, faults: 1 },
    { name: 'two concurrent requests', end: { endMs: 200 }, second: 100, faults: 1 },
    { name: 'a request before any response', end: { endMs: null }, second: 900, faults: 1 },
  ];
  for (const { name, end, second, faults } of gaps) {
    test(`delays: ${name}: ${faults} faults`, () => {
      assert.equal(impolite(host(end, second), row).length, faults);
    });
  }

  test('delays: the delay per address does not apply behind a proxy', () => {
    const apart = host({ endMs: 10 }, 60);
    assert.equal(impolite(apart, { ...row, way: 'proxy' }).length, 0);
  });

  test('delays: hosts that share an address share its delay, unless behind a proxy', () => {
    const shared = { ...row, addresses: 'shared' };
    const [one, other] = [host({ endMs: 10 }, 200), host({ endMs: 300 }, 400)];
    assert.deepEqual(crowded([one], shared), []);
    assert.equal(crowded([one, other], shared).length, 2);
    assert.deepEqual(crowded([one, other], { ...shared, way: 'proxy' }), []);
    assert.deepEqual(crowded([one, other], row), []);
  });

  test('reports a page as missing if it is absent, failed or has another status', () => {
    const paths = ['/', '/1', '/2', '/3', '/4', '/5'];
    const pages = paths.map((path) => page(path, 200));
    const plain = host({ endMs: 10 }, 110);
    assert.deepEqual(missing(plain, row, pages), []);
    const worse = [...pages.slice(0, 4), page('/4', null, 'reset'), page('/5', 503)];
    assert.deepEqual(missing(plain, row, worse.slice(1)), [
      'plain: / is absent, not 200',
      'plain: /4 is reset, not 200',
      'plain: /5 is 503, not 200',
    ]);
  });

  test('reports a recorded status that was not the last one served', () => {
    const plain = host({ endMs: 10 }, 110);
    assert.deepEqual(misrecorded(plain, [page('/', 200), page('/1', 200)]), []);
    assert.deepEqual(misrecorded(plain, [page('/', 404), page('/1', null, 'reset')]), [
      'plain: /: 404, served: 200',
      'plain: /1: reset, served: 200',
    ]);
  });
});
