// The faults that a storm may combine, and what they may cost: the rules of docs/RELIABILITY.md
// (*Faults tried*), as arithmetic on the faults of a plan. Pure. The storm begins only faults that
// mayBegin allows, and storm-judge.ts excuses nothing else.

import type { Fault, StormShape } from './storm-plan.ts';

/**
 * Faults that need the cluster for themselves, before their start and until all agents are back.
 */
const alone: readonly Fault['kind'][] = ['wipe', 'damage', 'power', 'stop'];

/** Whether the fault loses data that only one agent had. */
function takesDisk({ kind }: Fault): boolean {
  return kind === 'wipe' || kind === 'damage';
}

/**
 * Whether a fault may begin while others are open. Agents that are cut off count as away, like dead
 * ones.
 *
 * More agents than may be away are cut off only if the rest of the cluster is intact: their data
 * returns with the links. A cut that others can bypass costs nothing as long as they are present,
 * so no agent may be away meanwhile. And no directives are given on both sides of a cut: of a pause
 * and a resume the later one wins, but neither side may know which one that was.
 */
export function mayBegin(
  fault: Fault,
  open: readonly Fault[],
  awayMax: StormShape['awayMax'],
): boolean {
  const needsAll = (one: Fault) => alone.includes(one.kind) || one.ids.length > awayMax;
  if (open.some(needsAll)) return false;
  if (needsAll(fault)) return open.length === 0;
  if (!open.every((one) => agree(fault, one) && agree(one, fault))) return false;
  const away = new Set(open.flatMap(({ ids }) => ids));
  return fault.ids.every((id) => !away.has(id)) && away.size + fault.ids.length <= awayMax;
}

/** Whether the one may be open while the other is. */
function agree(one: Fault, other: Fault): boolean {
  if (one.kind === 'link' && other.kind === 'link') return false;
  if (one.kind === 'cut' && one.bridged && other.ids.length > 0) return false;
  return !(one.kind === 'pause' && (other.kind === 'cut' || isRough(other)));
}

/** Whether a link fault can make living agents appear dead. */
function isRough(fault: Fault): boolean {
  return fault.kind === 'link' && fault.ids.length > 0;
}

/** The other facts on which the promises depend. */
export interface Terms {
  readonly quorum: 'none' | 'majority';
  readonly backups: number;
  readonly suspectAfterMs: number;
}

/** Duration of a lease as a share of the timeout. No takeover happens before its end. */
export const leaseShare = 0.6;
/** On a busy machine a stall of this share may cost the lease. */
const leaseShareMin = 0.5;

/**
 * Number of additional agents that may use a host during the fault: sides that take over from each
 * other, each of which keeps every promise by itself (*a partition, quorum: none*). Under
 * `majority` only one side crawls. A link fault can be a partition of each agent that it affects.
 */
export function moreSides(fault: Fault, { quorum, suspectAfterMs }: Terms): number {
  if (quorum === 'majority') return 0;
  if (isRough(fault)) return fault.ids.length;
  return isPartition(fault, suspectAfterMs) ? 1 : 0;
}

/**
 * How often a page may be fetched again during the fault, in addition to the cost of crashes: once
 * for each additional side. Under `majority` once, if a host and all its copies are on the side
 * that does not crawl, so that the other side crawls it anew.
 */
export function moreFetches(fault: Fault, terms: Terms): number {
  const { quorum, backups, suspectAfterMs } = terms;
  if (quorum === 'none') return moreSides(fault, terms);
  return isPartition(fault, suspectAfterMs) && fault.ids.length > backups ? 1 : 0;
}

function isPartition(fault: Fault, suspectAfterMs: number): boolean {
  if (fault.kind !== 'cut' || fault.bridged) return false;
  return fault.forMs >= leaseShareMin * suspectAfterMs;
}

/**
 * Whether all copies must have caught up before the fault. Data that only one disk had is lost with
 * it; and a side that does not know its remaining hosts could consider the crawl complete.
 */
export function needsCopies(fault: Fault, { suspectAfterMs }: Terms): boolean {
  return takesDisk(fault) || isRough(fault) || isPartition(fault, suspectAfterMs);
}

/** A failed attempt to connect, and the pause before the next one. */
const reconnectMsMax = 3000;

/**
 * Time until all agents see each other again after a cut, without other faults: two timeouts, and
 * the time to reconnect.
 */
export function healMsMax({ suspectAfterMs }: Pick<Terms, 'suspectAfterMs'>): number {
  return 2 * suspectAfterMs + reconnectMsMax;
}

/** The costs that the faults of a storm excuse, apart from those of the sides of a cut. */
export interface StormCosts {
  readonly overlapMax: number;
  readonly strayMax: number;
}

/**
 * The sum over the faults. A crash costs twice the threads. It counts for each process that is
 * killed, ends because of its disk, or stalls for about a lease; a stall may also leave a stray
 * request for each open one. A clock that jumps forwards by a lease is such a stall, which the
 * agent notices before its next request. An agent that is cut off from all others for this time is
 * removed, which is a crash, but its lease stops it: no stray request. If links reset, lose or
 * delay messages, an agent may be removed once each timeout. Leaving, stopping, directives, clocks
 * set back, links that are late or repeat messages, and cuts that others bypass cost nothing.
 */
export function costsOf(
  faults: readonly Fault[],
  { threads, suspectAfterMs }: { readonly threads: number; readonly suspectAfterMs: number },
): StormCosts {
  let [crashes, strayMax] = [0, 0];
  for (const fault of faults) {
    switch (fault.kind) {
      case 'kill':
      case 'wipe':
      case 'damage':
      case 'power':
      case 'disk':
        crashes += fault.ids.length;
        break;
      case 'stall':
        if (fault.forMs < leaseShareMin * suspectAfterMs) break;
        crashes += 1;
        strayMax += threads;
        break;
      case 'clock':
        if (fault.byMs >= leaseShareMin * suspectAfterMs) crashes += 1;
        break;
      case 'cut':
        if (isPartition(fault, suspectAfterMs)) crashes += fault.ids.length;
        break;
      case 'link':
        crashes += fault.ids.length * (1 + Math.floor(fault.forMs / suspectAfterMs));
        break;
      case 'leave':
      case 'stop':
      case 'seed':
      case 'pause':
        break;
    }
  }
  return { overlapMax: 2 * threads * crashes, strayMax };
}
