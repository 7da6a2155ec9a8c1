// What a storm of faults does, drawn from one seed before anything runs: how large the cluster is,
// which faults befall which agents, for how long, and how long the storm rests between them. Pure, so
// that a seed means the same plan on every machine; storm.ts carries it out, as far as what is
// promised allows (storm-promises.ts). The weights are here.

import { Random } from '../simulation/random.ts';
import type { ProxyFault } from './network-proxy.ts';
import { damages } from './state-damages.ts';

/** What can be wrong with a stream to an agent; the second three may cost it its membership. */
export type LinkTrouble = 'late' | 'repeated' | 'damaged' | 'reset' | 'throttled';

/** One fault, from its beginning until all whom it befell are back: `ids`. */
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
  | { readonly kind: 'pause'; readonly ids: readonly []; readonly forMs: number }
  /**
   * Links between the agents `ids` and `others` are cut: both ways, those by which the others hear
   * them (`mute`), or those by which they hear the others (`deaf`). `bridged`: there are agents that
   * are neither, and see both. `heldMsMax` is how long a message is held before its connection is
   * reset; what is held when the cut is over comes then.
   */
  | {
      readonly kind: 'cut';
      readonly ids: readonly string[];
      readonly others: readonly string[];
      readonly bridged: boolean;
      readonly ways: 'both' | 'mute' | 'deaf';
      readonly heldMsMax: number;
      readonly forMs: number;
    }
  /** All that comes to the agents `at` is late, damaged and so on; `ids` if that can cost them. */
  | {
      readonly kind: 'link';
      readonly ids: readonly string[];
      readonly at: readonly string[];
      readonly trouble: LinkTrouble;
      readonly fault: ProxyFault;
      readonly forMs: number;
    }
  /** The wall clock jumps, and stays there. */
  | { readonly kind: 'clock'; readonly ids: readonly [string]; readonly byMs: number }
  /** The disk is full, or fails every write; the agent ends, and is back on its files. */
  | {
      readonly kind: 'disk';
      readonly ids: readonly [string];
      readonly how: 'full' | 'broken';
      readonly awayMs: number;
    };

export type FaultKind = Fault['kind'];

/** How often each is drawn, relative to the others. The gravest are rare, for they stop all else. */
export const weights: Readonly<Record<FaultKind, number>> = {
  ...{ kill: 5, stall: 5, cut: 5, leave: 4, link: 4, seed: 3 },
  ...{ wipe: 2, damage: 2, clock: 2, disk: 2, pause: 1, power: 1, stop: 1 },
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
    case 'cut':
      return drawCut(random, ids, suspectAfterMs);
    case 'link':
      return drawLink(random, ids, suspectAfterMs);
    case 'clock':
      return { kind, ids: [id], byMs: drawJump(random) };
    case 'disk':
      return { kind, ids: [id], how: random.pick(['full', 'broken'] as const), awayMs };
  }
}

/** One agent against all the others, as often as a part of up to a half, or one link alone. */
function drawCut(random: Random, ids: readonly string[], suspectAfterMs: number): Fault {
  const mixed = shuffled(ids, random);
  const bridged = ids.length > 2 && random.chance(0.3);
  const some = bridged || random.chance(0.6) ? 1 : random.whole(1, Math.floor(ids.length / 2));
  const rest = mixed.slice(some);
  const others = bridged ? rest.slice(0, random.whole(1, rest.length - 1)) : rest;
  return {
    ...{ kind: 'cut', ids: mixed.slice(0, some), others, bridged },
    ways: random.pick(['both', 'both', 'mute', 'deaf'] as const),
    // As the kernel of a sender that has heard nothing for the time-out, or at once.
    heldMsMax: random.chance(0.7) ? suspectAfterMs : 0,
    forMs: Math.round(stallShare(random) * suspectAfterMs),
  };
}

const kib = 1024;

/** To one agent, or more gently to all. */
function drawLink(random: Random, ids: readonly string[], suspectAfterMs: number): Fault {
  const all = random.chance(0.4);
  const at = all ? ids : [random.pick(ids)];
  const trouble = random.pick(['late', 'repeated', 'damaged', 'reset', 'throttled'] as const);
  const between = (low: number, high: number) => Math.round(random.between(low, high));
  const share = () => between(0, 30) / 100;
  const faults: { readonly [Trouble in LinkTrouble]: () => ProxyFault } = {
    // There and back within a quarter of the lease.
    late: () => ({ delayMs: between(10, 100), jitterMs: between(0, 80) }),
    repeated: () => ({ duplicated: share(), reordered: share(), replayed: share() }),
    damaged: () => ({ flipEveryBytes: between(all ? 8 : 2, all ? 32 : 16) * kib }),
    reset: () => ({ resetAfterMs: between(all ? 1000 : 300, 2000) }),
    throttled: () => ({ messagesPerSecond: all ? between(20, 60) : between(3, 20) }),
  };
  const isGentle = trouble === 'late' || trouble === 'repeated';
  const forMs = Math.round(random.between(0.5, 3) * suspectAfterMs);
  return { kind: 'link', ids: isGentle ? [] : at, at, trouble, fault: faults[trouble](), forMs };
}

/** From a second to a day, forwards as often as back. */
function drawJump(random: Random): number {
  const ms = 1000 * 86_400 ** random.next();
  return Math.round(random.chance(0.5) ? ms : -ms);
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
