// What a storm may ask of a cluster at all, and what its faults may cost: the rules of
// docs/RELIABILITY.md (*Faults tried*), as arithmetic on the faults of a plan. Pure. The
// storm begins no fault that mayBegin does not allow, and storm-judge.ts excuses nothing else.

import type { Fault, StormShape } from './storm-plan.ts';

/** Those that need the cluster for themselves, before and until all are back. */
const alone: readonly Fault['kind'][] = ['wipe', 'damage', 'power', 'stop'];

/** Whether what an agent had alone is lost with the fault. */
function takesDisk({ kind }: Fault): boolean {
  return kind === 'wipe' || kind === 'damage';
}

/**
 * Whether a fault may begin while others are not over yet. Who is cut off is away, as who is dead.
 *
 * A part of more agents than may be away is cut off only from a cluster that is whole otherwise: all
 * that it has is there again with the links. A cut around which others find a way costs nothing as
 * long as they are there, so nobody is away meanwhile. And nobody gives orders on both sides of a
 * cut: of a pause and a resume the later wins, but neither side may know which that was.
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

/** Whether the one may be there while the other is. */
function agree(one: Fault, other: Fault): boolean {
  if (one.kind === 'link' && other.kind === 'link') return false;
  if (one.kind === 'cut' && one.bridged && other.ids.length > 0) return false;
  return !(one.kind === 'pause' && (other.kind === 'cut' || isRough(other)));
}

/** Whether a fault of links can take agents for dead that are not. */
function isRough(fault: Fault): boolean {
  return fault.kind === 'link' && fault.ids.length > 0;
}

/** What the promises depend on, beside the faults. */
export interface Terms {
  readonly quorum: 'none' | 'majority';
  readonly backups: number;
  readonly suspectAfterMs: number;
}

/** Of a time-out: how long a lease holds. Before that nobody takes over. */
export const leaseShare = 0.6;
/** A stall may cost the lease from here on, on a machine that is busy. */
const leaseShareMin = 0.5;

/**
 * So many more than one agent may be at a host while the fault lasts: sides that take over from one
 * another, each of which keeps every promise by itself (*a partition, quorum: none*). Under a
 * majority only one side crawls. What disturbs links can be a partition of each agent that it is at.
 */
export function moreSides(fault: Fault, { quorum, suspectAfterMs }: Terms): number {
  if (quorum === 'majority') return 0;
  if (isRough(fault)) return fault.ids.length;
  return isPartition(fault, suspectAfterMs) ? 1 : 0;
}

/**
 * How often a page may be fetched again while the fault lasts, beside what its crashes cost: once on
 * each side more; and under a majority once, where a host and all its copies may lie on the side
 * that does not crawl, so that the other begins it anew.
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
 * Whether all copies must have caught up before. What a disk had alone is lost with it; and a side
 * that knows nothing yet of the hosts that it is left with could find the crawl complete.
 */
export function needsCopies(fault: Fault, { suspectAfterMs }: Terms): boolean {
  return takesDisk(fault) || isRough(fault) || isPartition(fault, suspectAfterMs);
}

/** A lost attempt to connect, and the pause before the next. */
const reconnectMsMax = 3000;

/**
 * Until all agents see one another again after links were cut, if nothing else befalls them: the
 * fault matrix's bound, and for a connection to come again.
 */
export function healMsMax({ suspectAfterMs }: Pick<Terms, 'suspectAfterMs'>): number {
  return 2 * suspectAfterMs + reconnectMsMax;
}

/** What a storm may cost, as far as its faults excuse it, but for what the sides of a cut may. */
export interface StormCosts {
  readonly overlapMax: number;
  readonly strayMax: number;
}

/**
 * The sum over the faults. One crash, which is twice the threads, for each process that is killed,
 * ends on its disk, or stood still for about a lease, which also may leave a stray request for each
 * that it had open. A clock that jumps on by a lease is such a stall, which the agent sees before it
 * asks for anything more. Who is cut off from all others for so long is given up, which is a crash,
 * but stops by its lease: no stray. Where links break off, lose or hold up messages, an agent may be
 * given up once each time-out. Leaving, stopping, orders, a clock that is put back, and links that
 * are late or repeat what was said cost nothing, and no cut does around which others find a way.
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
