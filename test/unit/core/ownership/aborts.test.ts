import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Aborts } from '../../../../agent/core/ownership/aborts.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';
import { EventLog } from '../../../../agent/core/protocol/event-log.ts';

const HEARTBEAT_MS = 100;
const SETTINGS = { heartbeatMs: HEARTBEAT_MS, suspectAfterMs: 2000, leaseMs: 1200 };
const NOBODY: ReadonlySet<string> = new Set();
const at = (mono: number) => ({ mono, wall: mono });
const open = (...hosts: string[]) => hosts.map((host, id) => ({ id, host }));

/**
 * @param unleased - hosts without a lease, which the test changes
 * @param ungranted - those of them whose lease grantor has just joined
 */
function setting(unleased: ReadonlySet<string>, slotless = NOBODY, ungranted = NOBODY) {
  const effects = new Effects();
  const told: object[] = [];
  const aborts = new Aborts({
    settings: SETTINGS,
    effects,
    events: new EventLog({ event: (mono, kind, detail) => told.push({ mono, kind, ...detail }) }),
    right: {
      mayGoOn: (host) => !unleased.has(host),
      isLeaseGrantorNew: (host) => ungranted.has(host),
    },
    budgets: { permits: { mayGoOn: (host: string) => !slotless.has(host) } as never },
  });
  const given = () => effects.take().map((effect) => effect.type === 'abort' && effect.request);
  return { aborts, given, told };
}

describe('aborts', () => {
  it('aborts a request once, and a later request of the same number again', () => {
    const { aborts, given, told } = setting(new Set());
    aborts.abort(open('a', 'b'), 'stopped', at(5));
    aborts.abort(open('a', 'b'), 'stopped', at(6));
    assert.deepEqual(given(), [0, 1]);
    assert.deepEqual(told, [
      { mono: 5, kind: 'abort', why: 'stopped', requests: 2, hosts: ['a', 'b'] },
    ]);
    aborts.ended(0);
    aborts.abort(open('a', 'b'), 'stopped', at(7));
    assert.deepEqual(given(), [0]);
  });

  it('a request without a lease continues for half a heartbeat after each lapse', () => {
    const unleased = new Set(['a']);
    const { aborts, given, told } = setting(unleased);
    aborts.judge(open('a', 'b'), at(0));
    aborts.judge(open('a', 'b'), at(HEARTBEAT_MS / 2 - 1));
    unleased.delete('a');
    aborts.judge(open('a', 'b'), at(HEARTBEAT_MS / 2));
    unleased.add('a');
    aborts.judge(open('a', 'b'), at(HEARTBEAT_MS));
    assert.deepEqual(given(), []);
    aborts.judge(open('a', 'b'), at(HEARTBEAT_MS * 1.5));
    assert.deepEqual(given(), [0]);
    const why = 'the lease lapsed';
    assert.deepEqual(told, [{ mono: 150, kind: 'abort', why, requests: 1, hosts: ['a'] }]);
  });

  it('gives a new grantor half of the time before a takeover for its first echo', () => {
    const unleased = new Set(['a', 'b']);
    const { aborts, given, told } = setting(unleased, NOBODY, new Set(['a']));
    aborts.judge(open('a', 'b'), at(0));
    aborts.judge(open('a', 'b'), at(399));
    assert.deepEqual(given(), [1]);
    aborts.judge(open('a', 'b'), at(400));
    assert.deepEqual(given(), [0]);
    assert.equal(told.length, 2);
  });

  it('aborts requests without a permit at once, and names some of many hosts', () => {
    const hosts = Array.from({ length: 20 }, (_, i) => `h${i}`);
    const { aborts, given, told } = setting(new Set(hosts), new Set(hosts));
    aborts.judge(open(...hosts), at(0));
    aborts.judge(open(...hosts), at(HEARTBEAT_MS));
    assert.equal(given().length, 20);
    const named = hosts.slice(0, 8);
    const why = 'its address permit expired';
    assert.deepEqual(told, [{ mono: 0, kind: 'abort', why, requests: 20, hosts: named }]);
  });
});
