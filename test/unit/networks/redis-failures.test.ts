import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RedisFailure } from '../../../agent/core/crawl/networks-port.ts';
import { NetworkFailure } from '../../../agent/networks/redis/network-failure.ts';
import { RedisFailures } from '../../../agent/networks/redis-failures.ts';

const at = (mono: number) => ({ mono, wall: mono });
const failure = (network: string, cause: string) =>
  new NetworkFailure({ network, host: '127.0.0.1', port: 6379 }, 'unreachable', cause);

test('failures: the last error of a network counts since the first of its streak', () => {
  const failures = new RedisFailures(1000);
  failures.record(failure('paris', 'ECONNREFUSED'), at(100));
  failures.record(failure('paris', 'it is still loading its file'), at(6100));
  failures.record(failure('rome', 'ECONNRESET'), at(6200));
  const named = ({ network, forMs, quietMs }: RedisFailure) => [network, forMs, quietMs];
  assert.deepEqual(failures.current(at(6300)).map(named), [
    ['paris', 6200, 200],
    ['rome', 100, 100],
  ]);
  assert.match(failures.current(at(6300))[0]!.message, /network paris: .*still loading/);
});

test('failures: one that was not repeated in time is not current, and begins no streak', () => {
  const failures = new RedisFailures(1000);
  failures.record(failure('paris', 'ECONNREFUSED'), at(0));
  assert.equal(failures.current(at(6000)).length, 1);
  assert.deepEqual(failures.current(at(6001)), []);
  failures.record(failure('paris', 'ECONNREFUSED'), at(7000));
  assert.equal(failures.current(at(7500))[0]!.forMs, 500);
});

test('failures: one of a Redis without connection is current, although no call repeats it', () => {
  const failures = new RedisFailures(1000);
  failures.record(failure('paris', 'it requires a password'), at(0));
  for (const mono of [3000, 6000, 9000]) failures.prolong('paris', at(mono));
  failures.prolong('rome', at(9000));
  const [current, ...others] = failures.current(at(9500));
  assert.deepEqual([current?.forMs, current?.quietMs, others], [9500, 500, []]);
  failures.prolong('paris', at(16_000));
  assert.deepEqual(failures.current(at(16_000)), [], 'it had ended');
});

test('failures: only the first of the same ones is new', () => {
  const failures = new RedisFailures(1000);
  const isNew = (cause: string, mono: number) => failures.record(failure('paris', cause), at(mono));
  assert.deepEqual([isNew('x', 0), isNew('x', 100), isNew('y', 200)], [true, false, true]);
  assert.deepEqual([isNew('y', 6000), isNew('y', 13_000)], [false, true]);
});

test('failures: an error that is not of a network is not counted', () => {
  const failures = new RedisFailures(1000);
  failures.record(new Error('x'), at(0));
  assert.deepEqual(failures.current(at(0)), []);
});
