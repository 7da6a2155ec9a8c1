// The plan of a storm of faults, drawn from one seed before anything runs: the size of the cluster,
// the faults, their agents and durations, and the pauses between them. It is pure, so a seed gives
// the same plan on every machine. storm.ts runs it as far as the promises allow
// (storm-promises.ts). The weights are here.

import { Random } from '../simulation/random.ts';
import type { ProxyFault } from './network-proxy.ts';
import { damages } from './state-damages.ts';

/** Faults of a stream to an agent. The last three may cost it its membership. */
export type LinkTrouble = 'late' | 'repeated' | 'damaged' | 'reset' | 'throttled';

/** A fault, from its start until all affected agents, `ids`, are back. */
export type Fault =
  /** SIGKILL, then a start on its files; at once if `awayMs` is 0. */
  | { readonly kind: 'kill'; readonly ids: readonly [string]; readonly awayMs: number }
  /** SIGSTOP, then SIGCONT. */
  | { readonly kind: 'stall'; readonly ids: readonly [string]; readonly forMs: number }
  /** SIGTERM: the agent hands over, ends and joins again. */
  | { readonly kind: 'leave'; readonly ids: readonly [string]; readonly awayMs: number }
  /** Several agents are killed at once and return without their files. */
  | { readonly kind: 'wipe'; readonly ids: readonly string[]; readonly awayMs: number }
  /** The agent is killed and returns on a damaged file. `where` varies the place. */
  | {
      readonly kind: 'damage';
      readonly ids: readonly [string];
      readonly awayMs: number;
      readonly damage: keyof typeof damages;
      readonly where: number;
    }
  /** SIGKILL to all agents, which return on their files. */
  | { readonly kind: 'power'; readonly ids: readonly string[]; readonly awayMs: number }
  /** `ubiring stop`: all agents end with 11 and then continue. */
  | { readonly kind: 'stop'; readonly ids: readonly string[]; readonly awayMs: number }
  /** `ubiring seed`: adds a URL that must be fetched. */
  | { readonly kind: 'seed'; readonly ids: readonly [] }
  /** `ubiring pause`, then `resume`. */
  | { readonly kind: 'pause'; readonly ids: readonly []; readonly forMs: number }
  /**
   * Links between the agents `ids` and `others` are cut: in both directions, towards the others
   * (`mute`), or from the others (`deaf`). `bridged`: further agents reach both sides. `heldMsMax`
   * is how long a message is held before its connection is reset; messages still held at the end of
   * the cut then arrive.
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
  /**
   * The stream to the agents `at` is late, damaged and so on. `ids` names the agents that may be
   * removed.
   */
  | {
      readonly kind: 'link';
      readonly ids: readonly string[];
      readonly at: readonly string[];
      readonly trouble: LinkTrouble;
      readonly fault: ProxyFault;
      readonly forMs: number;
    }
  /** The wall clock jumps and stays there. */
  | { readonly kind: 'clock'; readonly ids: readonly [string]; readonly byMs: number }
  /** The disk is full or fails every write. The agent ends and returns on its files. */
  | {
      readonly kind: 'disk';
      readonly ids: readonly [string];
      readonly how: 'full' | 'broken';
      readonly awayMs: number;
    };

export type FaultKind = Fault['kind'];

/** Relative frequency of each kind. The most severe are rare, because they exclude all others. */
export const weights: Readonly<Record<FaultKind, number>> = {
  ...{ kill: 5, stall: 5, cut: 5, leave: 4, link: 4, seed: 3 },
  ...{ wipe: 2, damage: 2, clock: 2, disk: 2, pause: 1, power: 1, stop: 1 },
};

export interface Step {
  /** From the start of the previous fault. */
  readonly afterMs: number;
  readonly fault: Fault;
}

export interface StormShape {
  readonly agents: number;
  readonly backups: number;
  readonly quorum: 'none' | 'majority';
  /**
   * Number of agents that may be away at once. It is at most the number of copies, because hosts
   * whose owner and copies are all away would be crawled anew. The remaining agents must also be
   * enough for the copies of new work (*Few agents in view*, in RELIABILITY).
   */
  readonly awayMax: number;
}

/** Draws 3 to 7 agents, unless a number is given. */
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
  /** Maximum time between two faults. */
  readonly afterMsMax: number;
}

/**
 * The endless steps of a storm: first each kind once in a random order, so that a short storm has
 * all of them, then each according to its weight.
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
  // Returns before the timeout about as often as after a takeover.
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

/** Cuts one agent off from all others, or up to half of them, or cuts a single link. */
function drawCut(random: Random, ids: readonly string[], suspectAfterMs: number): Fault {
  const mixed = shuffled(ids, random);
  const bridged = ids.length > 2 && random.chance(0.3);
  const some = bridged || random.chance(0.6) ? 1 : random.whole(1, Math.floor(ids.length / 2));
  const rest = mixed.slice(some);
  const others = bridged ? rest.slice(0, random.whole(1, rest.length - 1)) : rest;
  return {
    ...{ kind: 'cut', ids: mixed.slice(0, some), others, bridged },
    ways: random.pick(['both', 'both', 'mute', 'deaf'] as const),
    // Like the kernel of a sender that got no answer during the timeout, or at once.
    heldMsMax: random.chance(0.7) ? suspectAfterMs : 0,
    forMs: Math.round(stallShare(random) * suspectAfterMs),
  };
}

const kib = 1024;

/** A fault towards one agent, or a milder one towards all. */
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

/** From a second to a day, equally often forwards and back. */
function drawJump(random: Random): number {
  const ms = 1000 * 86_400 ** random.next();
  return Math.round(random.chance(0.5) ? ms : -ms);
}

/** In timeouts: shorter than the lease, around the timeout, and well beyond. */
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
