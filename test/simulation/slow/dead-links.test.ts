// Agents of the overlay kademlia that are not in each other's views, and between which one direction
// of the link is dead for the whole crawl.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../../agent/core/protocol/messages.ts';
import { missing } from '../../checkers/coverage.ts';
import { sentOf } from '../case-kit.ts';
import { Cluster, SUSPECT_MS } from '../cluster.ts';
import { keysOf } from '../kademlia-plan.ts';
import { chainWeb } from '../webs.ts';

const SIZES = { ids: 1, neighbourhood: 4, bucketSize: 20 };
const keyOf = (id: AgentId) => keysOf(SIZES)(id)[0]!;
const namesTo = (count: number) =>
  Array.from({ length: count }, (_, n) => `a${n}`).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
const IDS = namesTo(14);
const isHigh = (id: AgentId) => keyOf(id) >> 159n === 1n;
/** The leader of the whole space, and that of its upper half, which reports to it. */
const [LEADER, REPORTER] = [IDS[0]!, IDS.find(isHigh)!];
const SEED = 'http://h0.test/p0';

function crawl(from: AgentId, to: AgentId): Cluster {
  const kademlia = { ...SIZES, contacts: IDS.filter((id) => id !== from && id !== to).slice(0, 2) };
  const c = new Cluster({ ids: IDS, web: chainWeb(12, 2), seeds: [SEED], kademlia });
  c.network.cut(from, to);
  c.startAll();
  c.runToEnd(60 * SUSPECT_MS);
  assert.deepEqual(missing(c.log, c.web.keys()), []);
  return c;
}

describe('a dead link between agents that do not watch each other', () => {
  const [owner] = new Cluster({
    ...{ ids: IDS, web: chainWeb(1, 1), seeds: [SEED] },
    kademlia: { ...SIZES, contacts: [] },
  }).order('h0.test', IDS);
  const far = IDS.findLast((id) => isHigh(id) !== isHigh(owner!))!;

  for (const [what, a, b] of [
    ['URLs reach their owner', far, owner!],
    ['a leader reports to the next one', REPORTER, LEADER],
  ] as const) {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      it(`${what} although messages of ${from === a ? 'one' : 'the other'} are lost`, () => {
        const relayed = sentOf(crawl(from, to), 'RELAY').map(({ message }) => message);
        const isFar = relayed.some((one) => one.type === 'RELAY' && one.sender !== undefined);
        assert.ok(isFar, 'the two agents are members of each other');
      });
    }
  }
});

describe('an agent that cannot reach one by which it must be known', () => {
  it('joins once, because members relay what that one sends', () => {
    const within = (first: bigint) => namesTo(60).filter((id) => keyOf(id) >> 158n === first);
    // Those with the bits 10 are enough for a region of their own; that of 11 is the upper half.
    const [low, dense, sparse] = [within(0n).slice(0, 5), within(2n).slice(0, 6), within(3n)];
    const [late, unreached] = [dense[0]!, sparse[0]!];
    const others = [...low, ...dense.slice(1), unreached];
    const kademlia = { ...SIZES, contacts: low.slice(0, 2) };
    const ids = [...others, late];
    // A slow crawl, which does not end before.
    const delayMs = 5 * SUSPECT_MS;
    const c = new Cluster({ ids, web: chainWeb(12, 9), seeds: [SEED], kademlia, delayMs });
    c.network.cut(late, unreached);
    for (const id of others) c.start(id);
    c.runUntil('the others have joined', () => others.every((id) => c.snapshot(id).joined));
    c.run(5 * SUSPECT_MS);
    c.start(late);
    c.runUntil('the agent has joined', () => c.snapshot(late).joined, 10 * SUSPECT_MS);
    const { incarnation } = c.snapshot(late);
    c.run(5 * SUSPECT_MS);
    assert.equal(c.snapshot(late).incarnation, incarnation, 'it had to join again');
    assert.ok(c.snapshot(unreached).members.some(({ id }) => id === late));
  });
});
