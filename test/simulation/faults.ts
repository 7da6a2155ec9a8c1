// The faults of a cluster in the swarm: members join and leave, processes crash and stall, links
// are cut, disks lose unsynced data. Some faults strike exactly while hosts move, which a uniform
// draw would rarely hit.

import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { EPOCH, SUSPECT_MS } from './cluster.ts';
import { anyEnded, isUp, type Kind, type Plan, SPAN_MS } from './plan.ts';
import { Random } from './random.ts';

/** A fault of agent `a`; `b` is another agent and `ms` the duration. */
type Fault = (plan: Plan, a: AgentId, b: AgentId, ms: number) => void;

// ---- moves

/** An agent leaves for good. The remaining agents must be able to continue. */
function leave(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  const { cluster, away, ids, down } = plan;
  const agent = cluster.agents.get(a);
  if (!agent?.alive || down.has(a) || away.size > 0 || ids.length < 4) return;
  if (!tryLeave(plan, a) || ids.length < TWO_LEAVE_MIN || ms >= TWO_LEAVE_MS) return;
  const second = () => {
    if (!plan.healed && !anyEnded(plan) && plan.away.size === 1 && !plan.spent) tryLeave(plan, b);
  };
  if (ms % 3 < 1) second();
  else cluster.at(cluster.now + ms / 10, second);
}

/** With fewer agents, two that leave would remove the majority. */
const TWO_LEAVE_MIN = 5;
/** A second agent leaves if the fault is shorter than this, at once or up to a tenth later. */
const TWO_LEAVE_MS = 1500;

/** Whether the agent leaves now. It does not if it has not joined or is already stopping. */
function tryLeave({ cluster, away, down }: Plan, id: AgentId): boolean {
  const agent = cluster.agents.get(id);
  if (!agent?.alive || down.has(id)) return false;
  const { joined, lifecycle, members } = cluster.snapshot(id);
  if (!joined || lifecycle !== 'crawling') return false;
  // It could hand over nothing to drained agents alone.
  if (members.length > 0 && members.every(({ capacity }) => capacity === 0)) return false;
  away.add(id);
  agent.core.leave(cluster.instant(id));
  return true;
}

/** Sets the wall clock back, or forwards by less than a lease. */
function setClock({ cluster, random }: Plan, a: AgentId): void {
  cluster.jump(a, random.chance(0.5) ? -random.between(0, 5000) : random.between(0, 300));
}

/** Stops an agent and starts it again with another capacity. */
function reweigh(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  if (!isUp(plan, a)) return;
  crash(plan, a, b, Math.min(ms, 300));
  if (plan.down.has(a)) plan.reweighed.set(a, plan.random.whole(1, 4));
}

// ---- processes

function crash(plan: Plan, a: AgentId, _b: AgentId, ms: number): void {
  if (!isUp(plan, a) || wouldSplit(plan)) return;
  plan.cluster.kill(a);
  plan.down.add(a);
  plan.cluster.at(plan.cluster.now + ms, () => {
    if (!plan.healed && !anyEnded(plan)) restart(plan, a);
  });
}

/** Share of the mover's restarts that use another address. */
const MOVES_SHARE = 0.5;

export function restart(plan: Plan, id: AgentId): void {
  if (!plan.down.delete(id)) return;
  plan.capacities.set(id, plan.reweighed.get(id) ?? plan.capacities.get(id)!);
  // The config of the other agents keeps its first address. If two agents moved while both were
  // down, neither would know the address of the other, so only one agent of a crawl moves.
  if (id === plan.mover && plan.moving.chance(MOVES_SHARE)) plan.cluster.places.move(id);
  plan.cluster.start(id);
}

/** Kills an agent for good; its disk is lost as well. */
function killForGood(plan: Plan, a: AgentId): void {
  if (!isUp(plan, a) || plan.away.size > 0 || plan.ids.length < 4 || plan.spent) return;
  plan.cluster.kill(a);
  plan.cluster.wipe(a);
  plan.away.add(a);
  loseDisk(plan);
}

function stall(plan: Plan, a: AgentId, _b: AgentId, ms: number): void {
  if (isUp(plan, a) && !wouldSplit(plan)) plan.cluster.stall(a, ms);
}

/** Strikes while the agent joins, hands over, receives hosts or copies rows. */
function aimed(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  const { cluster, random } = plan;
  const strike = random.pick([crash, crash, stall, killForGood]);
  const moment = random.pick(MOMENTS);
  const late = random.pick([0, 2, 10, 40]);
  let armed = true;
  cluster.watchers.push((agent) => {
    if (!armed || agent.id !== a || plan.healed || !isUp(plan, a)) return;
    if (!moment(cluster.snapshot(a))) return;
    armed = false;
    cluster.at(cluster.now + random.between(0, late), () => {
      if (!plan.healed && !anyEnded(plan)) strike(plan, a, b, ms);
    });
  });
}

type Snapshot = ReturnType<Plan['cluster']['snapshot']>;

const MOMENTS: readonly ((standing: Snapshot) => boolean)[] = [
  ({ handOff }) => handOff.given > 0,
  ({ handOff }) => handOff.awaited > 0,
  ({ handOff }) => handOff.owed > 0,
  ({ joined }) => !joined,
  ({ copyLag, joined }) => joined && copyLag > 0,
  ({ unanswered }) => unanswered > 0,
  ({ unsettled, handOff }) => unsettled > 0 && handOff.given > 0,
];

// ---- links

/** Under `none` one link at a time: two cuts together could separate two agents completely. */
function cutOne(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  const { cluster, ids } = plan;
  if (plan.quorum === 'none' && (cluster.now < plan.cutUntil || plan.down.size > 0)) return;
  plan.cutUntil = cluster.now + ms + 1.6 * SUSPECT_MS;
  if (ids.filter((id) => isUp(plan, id)).length < 3) plan.split = true;
  if (ms >= SUSPECT_MS / 2) plan.longCuts.push([a, b]);
  cluster.network.cut(a, b);
  cluster.at(cluster.now + ms, () => {
    if (!plan.healed) cluster.network.mend(a, b);
  });
}

/** While a link is cut, the third agent that relays news must not crash. */
function wouldSplit(plan: Plan): boolean {
  return plan.quorum === 'none' && plan.cluster.now < plan.cutUntil;
}

/** Cuts one or two agents off from the others, in one direction or both. */
function partition(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  const { cluster, ids, random, quorum } = plan;
  if (quorum === 'none' && random.chance(0.7)) return;
  const side = new Set(random.chance(0.4) ? [a, b] : [a]);
  const oneWay = random.chance(0.5);
  const cuts = ids.flatMap((x) =>
    ids.filter((y) => side.has(x) !== side.has(y) && !(oneWay && side.has(x))).map((y) => [x, y]),
  ) as [AgentId, AgentId][];
  for (const [x, y] of cuts) cluster.network.cut(x, y);
  cluster.at(cluster.now + ms, () => {
    if (!plan.healed) for (const [x, y] of cuts) cluster.network.mend(x, y);
  });
  plan.split = true;
}

function slowRows({ cluster, random }: Plan, _a: AgentId, _b: AgentId, ms: number): void {
  const type = random.pick(['ROWS', 'ROWS_ACK', 'LIST', 'YIELD', 'YIELD_ACK', 'URLS_ACK'] as const);
  cluster.network.lossOf.set(type, random.pick([0.5, 0.9, 1]));
  cluster.at(cluster.now + ms, () => cluster.network.lossOf.delete(type));
}

// ---- disks

/** Durable commits take longer for a time, up to nearly a lease. */
function slowDisk({ cluster, random }: Plan, a: AgentId, _b: AgentId, ms: number): void {
  cluster.slowDisks.set(a, random.pick([20, 100, 300]));
  cluster.at(cluster.now + ms, () => cluster.slowDisks.delete(a));
}

/**
 * One copy of each host of the agent is lost. With one backup another loss would be one too many.
 */
function loseDisk(plan: Plan): void {
  plan.spent = true;
  plan.diskLost = true;
}

/**
 * Unsynced data is lost. No promise was made on this data alone, but the agent's backups may have
 * promised it, so this fault does not occur while the disk of another agent is lost.
 */
function powerLoss(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  const { cluster, random } = plan;
  if (!isUp(plan, a)) return;
  cluster.watch(a);
  cluster.at(cluster.now + random.between(20, 400), () => {
    if (plan.healed || anyEnded(plan) || !isUp(plan, a) || plan.diskLost) return;
    crash(plan, a, b, ms);
    if (!plan.down.has(a)) return;
    cluster.setBack(a);
    // Until the agent is back, its unsynced data has one copy fewer.
    plan.spent = true;
  });
}

/** An earlier state of the disk returns, which counts as its loss. */
function rollBack(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  const { cluster, random } = plan;
  if (!isUp(plan, a) || plan.spent) return;
  loseDisk(plan);
  const image = cluster.disks.get(a)!.db.serialize();
  cluster.at(cluster.now + random.between(200, 1500), () => {
    if (plan.healed || anyEnded(plan) || !isUp(plan, a)) return;
    crash(plan, a, b, ms);
    if (!plan.down.has(a)) return;
    plan.setBack.add(a);
    cluster.disks.get(a)!.image = image;
    cluster.setBack(a);
  });
}

/** The agent restarts on a new disk: the old one was quarantined, or the machine was replaced. */
function emptied(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  if (!isUp(plan, a) || plan.spent) return;
  crash(plan, a, b, ms);
  if (!plan.down.has(a)) return;
  loseDisk(plan);
  plan.setBack.add(a);
  plan.cluster.wipe(a);
}

// ---- faults by kind

const MOVES: readonly Fault[] = [leave, setClock, reweigh];
const ALL: readonly Fault[] = [
  ...MOVES,
  ...[crash, crash, aimed, aimed, aimed, stall, stall],
  ...[cutOne, cutOne, partition, killForGood, slowRows],
];
const DISKS: readonly Fault[] = [
  ...[powerLoss, powerLoss, rollBack, emptied, slowDisk, slowDisk],
  ...[slowRows, slowRows, crash, aimed],
];

/** A calm cluster has none. */
const FAULTS: Readonly<Record<Kind, readonly Fault[]>> = {
  calm: [],
  moves: MOVES,
  faults: ALL,
  disks: DISKS,
  cuts: [setClock, slowRows, leave],
  storms: [crash, crash, crash, aimed, aimed, stall, slowRows],
  budgets: ALL,
  shares: ALL,
  waits: [reweigh, reweigh, reweigh, reweigh, leave, setClock, crash, stall, slowRows],
};

/** Plans the faults of a run. */
export function planFaults(plan: Plan): void {
  const { cluster, random, ids, kind } = plan;
  if (kind === 'cuts') cutForGood(plan);
  const faults = FAULTS[kind];
  if (faults.length === 0) return;
  const count = kind === 'storms' ? ids.length : random.whole(2, 8);
  for (let i = count; i > 0; i--) {
    const fault = random.pick(faults);
    const a = random.pick(ids);
    const b = random.pick(ids.filter((id) => id !== a));
    const ms = random.chance(0.5) ? random.between(50, 900) : random.between(900, 3000);
    cluster.at(EPOCH + random.between(300, SPAN_MS), () => {
      if (!plan.healed && !anyEnded(plan)) fault(plan, a, b, ms);
    });
  }
}

/** Cuts one link in one direction for the whole crawl. */
function cutForGood(plan: Plan): void {
  const a = plan.random.pick(plan.ids);
  const b = plan.random.pick(plan.ids.filter((id) => id !== a));
  plan.deadLinks.push([a, b]);
  plan.longCuts.push([a, b]);
  plan.cluster.network.cut(a, b);
}

/**
 * In some crawls one agent gets one or two refreshes. They have their own random source, so that no
 * plan changes.
 */
export function planRefresh(plan: Plan, seed: number): void {
  const random = new Random(seed * 31 + 7);
  if (!random.chance(0.4)) return;
  const rounds = random.pick([1, 1, 2]);
  for (let round = 1; round <= rounds; round++) {
    const id = random.pick(plan.ids);
    plan.cluster.at(EPOCH + random.between(300, SPAN_MS * 1.1), () => {
      if (anyEnded(plan) || !isUp(plan, id)) return;
      plan.refreshedAt = plan.cluster.now;
      const agent = plan.cluster.agents.get(id)!;
      agent.inputs.push(() => agent.core.operator.refresh(round, plan.cluster.instant(id)));
    });
  }
}
