// Removes single rules of the protocol between networks (docs/NETWORKS.md), to show that the
// checkers notice: a checker that never fails proves nothing. A rule is removed by replacing a
// method; the shipped code is not touched.

import { Rest } from '../../../agent/networks/client/rest.ts';
import { HostLeases } from '../../../agent/networks/host-leases.ts';
import { OpenFrames } from '../../../agent/networks/open-frames.ts';
import { Peer } from '../../../agent/networks/peer.ts';
import { Reporter } from '../../../agent/networks/reporter.ts';
import { Submitter } from '../../../agent/networks/submitter.ts';
import { replace, type Undo } from '../undo.ts';
import { ModelAgent } from './model-agent.ts';
import type { Row } from './model-network.ts';
import { type PoolsModel, RedisModel } from './redis-model.ts';

/** Replaces an operation of the pools. */
function operation<K extends keyof PoolsModel>(
  name: K,
  make: (was: PoolsModel[K], pools: PoolsModel) => PoolsModel[K],
): Undo {
  return replace(RedisModel.prototype, 'pools', (was) => {
    return function (this: RedisModel, network) {
      const pools = was.call(this, network);
      return { ...pools, [name]: make(pools[name], pools) };
    };
  });
}

function givenAs(state: Row['state'], was: ModelAgent['give']): ModelAgent['give'] {
  return function (this: ModelAgent, host, other, max) {
    const urls = was.call(this, host, other, max);
    for (const { url } of urls) this.network.rows.get(url)!.state = state;
    return urls;
  };
}

const REMOVALS = {
  /** Rule 1: a frame is sent once. */
  resent: () => {
    const sent = new Set<string>();
    return [
      operation('submit', (was) => (frame) => {
        if (!sent.has(frame.number)) was(frame);
        sent.add(frame.number);
      }),
    ];
  },
  /** Rule 2: nothing is claimed. */
  claims: () => [
    operation('claim', (was, pools) => (token, entry) => {
      const marks = was(token, entry);
      pools.release(entry.frame.digests.filter((_, i) => marks?.[i] === '0'));
      return marks;
    }),
  ],
  /** Rule 2: a claim that is repeated returns the marks that it finds now. */
  'marks-kept': () => [
    operation('claim', (was, pools) => (token, entry) => {
      const now = pools.marksOf(entry.frame.digests) ?? '';
      const marks = was(token, entry);
      return marks === null ? null : marks.replace(/./g, (mark, i) => now[i] ?? mark);
    }),
  ],
  /** Rule 3: the other networks are not asked. */
  asks: () => [replace(OpenFrames.prototype, 'undecided', () => () => [])],
  /** Rule 4: of two networks that ask at once, both keep the URL. */
  'tie-rule': () => [replace(OpenFrames.prototype, 'compare', () => () => false)],
  /** Rule 4: the higher network does not wait for the answer. */
  'answer-awaited': () => [
    replace(OpenFrames.prototype, 'compare', (was) => {
      return function (this: OpenFrames, digest, network, isHigher) {
        const keeps = was.call(this, digest, network, isHigher);
        if (keeps) this.decide(digest, network, '0');
        return keeps;
      };
    }),
    replace(OpenFrames.prototype, 'decide', (was) => {
      return function (this: OpenFrames, digest, network, mark) {
        const [open] = [...this.all()].filter((each) => each.claimed.has(digest));
        if (open?.decisions.get(network)?.get(digest) === '0') return;
        was.call(this, digest, network, mark);
      };
    }),
  ],
  /** Rule 5: conceded URLs stay claimed. */
  conceded: () => [
    operation('settle', (was) => (token, origin, verdict) => was(token, origin, verdict, [])),
  ],
  /** Rule 4: a frame does not wait for another one with the same digest. */
  overlaps: () => [replace(OpenFrames.prototype, 'overlaps', () => () => false)],
  /** Rule 6: the pools of a network without centre are not read. */
  'direct-reads': () => [
    operation(
      'marksOf',
      (was, pools) => (digests) => (pools.presence().hasCentre ? was(digests) : null),
    ),
  ],
  /** Rule 6: the claims of a network that is away stay, although others take the URLs. */
  lapsed: () => [operation('lapse', (was) => () => was([]))],
  /** Rule 6: they stay if the verdict does not await them. */
  'partial-lapsed': () => [replace(Peer.prototype, 'giveUp', () => async () => {})],
  /** Rule 6: a network that returns does not look at its claims before its first visits. */
  'looked-first': () => [replace(Reporter.prototype, 'hasLooked', () => () => true)],
  /** Rule 6: URLs whose claims have lapsed are not asked about again. */
  'asked-again': () => [replace(ModelAgent.prototype, 'askAgain', () => () => {})],
  /** Rule 7: settled pages are not told. */
  finished: () => [operation('finish', (_, pools) => (digests) => pools.release(digests))],
  /** Rule 7: URLs that are given up stay claimed. */
  released: () => [operation('release', () => () => {})],
  /** Rule 7: URLs that are wanted again lose their claim. */
  'wanted-again': () => [replace(ModelAgent.prototype, 'standingOf', () => () => 'other')],
  /** Rule 8: URLs that others had claimed are not asked for again. */
  returned: () => [replace(ModelAgent.prototype, 'isIdle', () => () => false)],
  /** Rule 8: claims that nobody wants stay. */
  doubted: () => [operation('doubt', () => () => {})],
  /** Rule 9: a network ends although another one works. */
  'end-together': () => [replace(Rest.prototype, 'mayEnd', () => () => true)],
  /** Rule 9: claims that a crash has left count although the network is at rest. */
  'claims-at-rest': () => [replace(RedisModel.prototype, 'isAtRest', () => () => false)],
  /** Rule 12: URLs that are given stay queued. */
  given: () => [replace(ModelAgent.prototype, 'give', (was) => givenAs('queued', was))],
  /** Rule 12: URLs that are given do not return. */
  'given-return': () => [replace(ModelAgent.prototype, 'give', (was) => givenAs('final', was))],
  /** An agent that takes hosts over does not read their URLs that wait, or their reports. */
  'waiting-taken-over': () => [replace(Submitter.prototype, 'storeChanged', () => () => {})],
  'reports-taken-over': () => [replace(Reporter.prototype, 'storeChanged', () => () => {})],
  /** Two agents are the centre at once. */
  'one-centre': () => [replace(RedisModel.prototype, 'isCentre', () => () => true)],
  /** Rule 10: hosts are visited without lease. */
  'host-leases': () => [
    replace(HostLeases.prototype, 'enter', () => () => ({ kind: 'go', isLeased: true })),
    replace(HostLeases.prototype, 'mayGoOn', () => () => true),
  ],
  /** Rule 10: requests go on after the lease. */
  'may-go-on': () => [replace(HostLeases.prototype, 'mayGoOn', () => () => true)],
  /** Rule 10: a late release ends a lease that was granted after it. */
  'grant-named': () => [replace(RedisModel.prototype, 'isGranted', () => () => true)],
  /** Rule 10: what is left of the delay is not told. */
  'delay-told': () => [
    operation('releaseHosts', (was) => (network, hosts) => {
      was(
        network,
        hosts.map((each) => ({ ...each, delayMs: 0 })),
      );
    }),
  ],
  /** Rule 10: a lease that expired has no delay. */
  'delay-after-expiry': () => [
    operation('acquire', (was) => (network, hosts, leaseMs, grant) => {
      return was(
        network,
        hosts.map((each) => ({ ...each, delayMs: 0 })),
        ...([leaseMs, grant] as const),
      );
    }),
  ],
  /** Rule 11: pools that were lost count as filled. */
  filled: () => [
    operation('marksOf', (was, pools) => (digests) => {
      pools.setFilled();
      return was(digests);
    }),
  ],
  /** Rule 11: claims are not restored. */
  'claims-restored': () => [operation('hold', () => () => {})],
} satisfies Record<string, () => Undo[]>;

export type NetworkRule = keyof typeof REMOVALS;
export const NETWORK_RULES = Object.keys(REMOVALS) as NetworkRule[];

export function isNetworkRule(name: string | undefined): name is NetworkRule {
  return name !== undefined && Object.hasOwn(REMOVALS, name);
}

export function withoutRule(rule: NetworkRule): Undo {
  const undo = REMOVALS[rule]();
  return () => {
    for (const each of undo) each();
  };
}
