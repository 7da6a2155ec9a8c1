// What a storm of faults does, drawn from one seed before anything runs: how large the cluster is,
// which faults befall which agents, for how long, and how long the storm rests between them. Pure, so
// that a seed means the same plan on every machine; storm.ts carries it out. The weights are here.

import { Random } from '../simulation/random.ts';
import { damages } from './state-damages.ts';

/** One fault, from its beginning until all whom it befell are back. */
export type Fault =
  /** SIGKILL, and back on its files; at once where `awayMs` is 0. */
  | { readonly kind: 'kill'; readonly ids: readonly [string]; readonly awayMs: number }
  /** SIGSTOP, SIGCONT. */
  | { readonly kind: 'stall'; readonly ids: readonly [string]; readonly forMs: number }
  /** SIGTERM: hands over, ends, and joins again. */
  | { readonly kind: 'leave'; readonly ids: readonly [string]; readonly awayMs: number }
  /** Killed at once, and back without their files. */
  | { readonly kind: 'wipe'; readonly ids: readonly string[]; readonly awayMs: number }
  /** Killed, and back on a file that was damaged meanwhile; `where` varies the place. */
  | {
      readonly kind: 'damage';
      readonly ids: readonly [string];
      readonly awayMs: number;
      readonly damage: keyof typeof damages;
      readonly where: number;
    }
  /** SIGKILL to all, and all back on their files. */
  | { readonly kind: 'power'; readonly ids: readonly string[]; readonly awayMs: number }
  /** `ubiring stop`: all end with 11, and go on. */
  | { readonly kind: 'stop'; readonly ids: readonly string[]; readonly awayMs: number }
  /** `ubiring seed`: one more URL, which must be fetched. */
  | { readonly kind: 'seed'; readonly ids: readonly [] }
  /** `ubiring pause` and `resume`. */
  | { readonly kind: 'pause'; readonly ids: readonly []; readonly forMs: number };

export type FaultKind = Fault['kind'];

/** How often each is drawn, relative to the others. The gravest are rare, for they stop all else. */
export const weights: Readonly<Record<FaultKind, number>> = {
  ...{ kill: 5, stall: 5, leave: 4, seed: 3 },
  ...{ wipe: 2, damage: 2, pause: 1, power: 1, stop: 1 },
};

export interface Step {
  /** From the beginning of the fault before. */
  readonly afterMs: number;
  readonly fault: Fault;
}

export interface StormShape {
  readonly agents: number;
  readonly backups: number;
  readonly quorum: 'none' | 'majority';
  /**
   * So many may be away at once: no more than there are copies, or hosts whose owner and copies are
   * all away would be begun anew; and not so many that those who stay are too few for the copies
   * of what they do meanwhile (*settled while alone*, in RELIABILITY).
   */
  readonly awayMax: number;
}

/** 3 to 7 agents, unless it is said how many. */
export function drawShape(seed: number, agentsGiven?: number): StormShape {
  const random = new Random(seed);
  const drawn = random.whole(3, 7);
  const backupsDrawn = random.whole(1, 2);
  const quorum = random.chance(1 / 3) ? 'majority' : 'none';
  const agents = agentsGiven ?? drawn;
  const backups = agents >= 5 ? backupsDrawn : 1;
  return { agents, backups, quorum, awayMax: Math.max(1, Math.min(backups, agents - backups - 1)) };
}

export interface PlanOptions extends Pick<StormShape, 'backups'> {
  readonly seed: number;
  readonly ids: readonly string[];
  readonly suspectAfterMs: number;
  /** Of the times between two faults. */
  readonly afterMsMax: number;
}

/**
 * The steps of a storm, without end: each kind once, in an order that is drawn, so that a short storm
 * has all of them; then each as often as its weight says.
 */
export function* drawSteps(options: PlanOptions): Generator<Step, never> {
  const random = new Random(options.seed ^ 0x5f01);
  const kinds = Object.keys(weights) as FaultKind[];
  const first = shuffled(kinds, random);
  for (let n = 0; ; n++) {
    const kind = first[n] ?? weighted(random);
    const afterMs = Math.round(random.between(0, options.afterMsMax));
    yield { afterMs, fault: drawFault(kind, random, options) };
  }
}

function drawFault(
  kind: FaultKind,
  random: Random,
  { ids, backups, suspectAfterMs }: PlanOptions,
): Fault {
  const id = random.pick(ids);
  // Back before anybody misses it, as often as after it was inherited.
  const awayMs = Math.round(random.between(0, 2) * suspectAfterMs);
  switch (kind) {
    case 'kill':
      return { kind, ids: [id], awayMs: random.chance(0.3) ? 0 : awayMs };
    case 'leave':
      return { kind, ids: [id], awayMs };
    case 'stall':
      return { kind, ids: [id], forMs: Math.round(stallShare(random) * suspectAfterMs) };
    case 'wipe':
      return { kind, ids: shuffled(ids, random).slice(0, random.whole(1, backups)), awayMs };
    case 'damage': {
      const damage = random.pick(Object.keys(damages) as (keyof typeof damages)[]);
      return { kind, ids: [id], awayMs, damage, where: random.whole(1, 1000) };
    }
    case 'power':
    case 'stop':
      return { kind, ids, awayMs: Math.round(awayMs / 2) };
    case 'pause':
      return { kind, ids: [], forMs: Math.round(awayMs / 2) };
    case 'seed':
      return { kind, ids: [] };
  }
}

/** In time-outs: shorter than the lease, around the time-out, and well beyond. */
function stallShare(random: Random): number {
  const [low, high] = random.pick([
    [0.1, 0.5],
    [0.6, 1.2],
    [1.5, 3],
  ] as const);
  return random.between(low, high);
}

function weighted(random: Random): FaultKind {
  const entries = Object.entries(weights) as [FaultKind, number][];
  let left = random.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of entries) {
    left -= weight;
    if (left < 0) return kind;
  }
  return entries[0]![0];
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  for (let k = left.length - 1; k > 0; k--) {
    const other = random.whole(0, k);
    [left[k], left[other]] = [left[other]!, left[k]!];
  }
  return left;
}

/** Those that need the cluster for themselves, before and until all are back. */
const alone: readonly FaultKind[] = ['wipe', 'damage', 'power', 'stop'];

/** Whether what an agent had alone is lost with the fault. */
export function takesDisk({ kind }: Fault): boolean {
  return kind === 'wipe' || kind === 'damage';
}

/** Whether a fault may begin while others are not over yet. */
export function mayBegin(
  { kind, ids }: Fault,
  open: readonly Fault[],
  awayMax: StormShape['awayMax'],
): boolean {
  if (open.some((one) => alone.includes(one.kind))) return false;
  if (alone.includes(kind)) return open.length === 0;
  const away = new Set(open.flatMap((one) => one.ids));
  return ids.every((id) => !away.has(id)) && away.size + ids.length <= awayMax;
}

/** What a storm may cost, as far as its faults excuse it. */
export interface StormCosts {
  readonly overlapMax: number;
  readonly strayMax: number;
}

/** A stall may cost the lease (0.6 time-outs) from here on, on a machine that is busy. */
const leaseShareMin = 0.5;

/**
 * The sum over the faults (RELIABILITY, *Faults tried*). One crash, which is twice the threads, for
 * each process that is killed and for each that stood still for about a lease, which also may leave
 * a stray request for each that it had open. Leaving, stopping and orders cost nothing.
 */
export function costsOf(
  faults: readonly Fault[],
  { threads, suspectAfterMs }: { readonly threads: number; readonly suspectAfterMs: number },
): StormCosts {
  let [overlapMax, strayMax] = [0, 0];
  for (const fault of faults) {
    switch (fault.kind) {
      case 'kill':
      case 'wipe':
      case 'damage':
      case 'power':
        overlapMax += 2 * threads * fault.ids.length;
        break;
      case 'stall':
        if (fault.forMs < leaseShareMin * suspectAfterMs) break;
        overlapMax += 2 * threads;
        strayMax += threads;
        break;
      case 'leave':
      case 'stop':
      case 'seed':
      case 'pause':
        break;
    }
  }
  return { overlapMax, strayMax };
}
