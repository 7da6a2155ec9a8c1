// A small randomised swarm: two to six real cores under crashes, stalls, cuts, partitions, late
// joins, leaves and clocks that run apart, all from one seed; then everything heals, and the web's
// log and the ends of the agents are checked. The unit tests run some seeds; by hand any number:
// `node test/simulation/swarm.ts --runs 1000 --seed 1 [--kind faults] [--without rule]`.

import { parseArgs } from 'node:util';
import type { AgentId } from '../../agent/core/messages.ts';
import type { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { Cluster, EPOCH, SUSPECT_MS } from './cluster.ts';
import { isRule, RULES, type Rule, without } from './mutations.ts';
import { Random } from './random.ts';

/** What may happen: nothing but a bad network; membership changes; or real faults as well. */
export const KINDS = ['calm', 'moves', 'faults'] as const;
export type Kind = (typeof KINDS)[number];

/** Faults come within this; then the cluster heals. */
const SPAN_MS = 6000;
/** After the healing all living agents must have ended within this: some thirty time-outs. */
const END_MS = 30 * SUSPECT_MS;
const DELAY_MS = 60;
/** Clocks run apart by two per cent at most, and the timers round up. */
const TOLERANCE_MS = 0.05 * DELAY_MS;

export interface Verdict {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly requests: number;
  readonly tookMs: number;
}

interface Plan {
  readonly kind: Kind;
  readonly quorum: 'none' | 'majority';
  readonly ids: readonly AgentId[];
  readonly random: Random;
  readonly cluster: Cluster;
  /** Disks of agents that are down. */
  readonly disks: Map<AgentId, SqliteStore>;
  /** Agents that never come back, or left. */
  readonly away: Set<AgentId>;
  /** A crash may lose what the agent had queued (until rows have copies). */
  lossy: boolean;
  /** No third agent could pass news on: under `none` each side crawls on. */
  split: boolean;
  cutUntil: number;
  healed: boolean;
}

export function runSwarm(seed: number, kind: Kind): Verdict {
  const plan = drawPlan(seed, kind);
  schedule(plan);
  const { cluster } = plan;
  cluster.run(SPAN_MS);
  heal(plan);
  const healedAt = cluster.now;
  const violations: string[] = [];
  try {
    cluster.runUntil('all have ended', () => mustStillEnd(plan).length === 0, END_MS);
  } catch (error) {
    violations.push(`no end: ${(error as Error).message}`);
  }
  violations.push(...check(plan));
  return { seed, violations, requests: cluster.log.length, tookMs: cluster.now - healedAt };
}

function drawPlan(seed: number, kind: Kind): Plan {
  const random = new Random(seed * 7919 + 13);
  const ids = Array.from(
    { length: random.whole(kind === 'faults' ? 2 : 3, 6) },
    (_, i) => `a${i + 1}`,
  );
  const quorum = random.chance(0.5) ? 'none' : 'majority';
  const web = drawWeb(random, random.whole(3, 8), random.whole(12, 30));
  const rates = new Map(ids.map((id) => [id, random.between(0.98, 1.02)]));
  const loss = random.pick([0, 0.02, 0.1]);
  const cluster = new Cluster({
    ids,
    web,
    seeds: [...web.keys()].slice(0, random.whole(1, 2)),
    quorum,
    seed: random.whole(1, 1e9),
    network: { loss, duplicate: 0.03, slow: 0.04, slowMs: 250 },
    delayMs: DELAY_MS,
    rate: (id) => rates.get(id) ?? 1,
    requestMs: (r) => (r.chance(0.1) ? r.between(150, 900) : r.between(5, 40)),
    keepSent: false,
  });
  const disks = new Map<AgentId, SqliteStore>();
  const more = { away: new Set<AgentId>(), lossy: false, split: false };
  const when = { healed: false, cutUntil: 0 };
  return { kind, quorum, ids, random, cluster, disks, ...more, ...when };
}

/** A tree of pages over all hosts, long rather than wide: every page has one way in. */
function drawWeb(random: Random, hosts: number, pages: number): Map<string, string[]> {
  const rest: string[] = [];
  for (let h = 0; h < hosts; h++) {
    for (let p = 0; p < pages; p++) rest.push(`http://h${h}.test/p${p}`);
  }
  const web = new Map<string, string[]>([[rest.shift()!, []]]);
  while (rest.length > 0) {
    const [url] = rest.splice(random.whole(0, rest.length - 1), 1);
    const tail = [...web.keys()].slice(-6);
    web.get(random.pick(tail))!.push(url!);
    web.set(url!, []);
  }
  return web;
}

// ---- what happens

function schedule(plan: Plan): void {
  const { cluster, random, ids, kind } = plan;
  const late = kind === 'calm' ? 0 : 0.3;
  for (const id of ids) {
    const at = random.chance(late) ? random.between(0, 3000) : random.between(0, 300);
    cluster.at(EPOCH + at, () => {
      if (!cluster.agents.has(id)) cluster.start(id);
    });
  }
  if (kind === 'calm') return;
  const faults = kind === 'moves' ? MOVES : [...MOVES, ...FAULTS];
  for (let i = random.whole(2, 8); i > 0; i--) {
    const fault = random.pick(faults);
    const a = random.pick(ids);
    const b = random.pick(ids.filter((id) => id !== a));
    const ms = random.chance(0.5) ? random.between(50, 900) : random.between(900, 3000);
    cluster.at(EPOCH + random.between(300, SPAN_MS), () => {
      if (!plan.healed && !anyEnded(plan)) fault(plan, a, b, ms);
    });
  }
}

type Fault = (plan: Plan, a: AgentId, b: AgentId, ms: number) => void;

const MOVES: readonly Fault[] = [
  // Leaves for good; those left must be able to go on.
  ({ cluster, away, ids, ...plan }, a) => {
    const agent = cluster.agents.get(a);
    if (!agent?.alive || plan.disks.has(a) || away.size > 0 || ids.length < 4) return;
    if (!cluster.snapshot(a).joined) return;
    away.add(a);
    agent.core.leave(cluster.instant(a));
  },
  // The wall clock is set back, or forwards by less than a lease.
  ({ cluster, random }, a) => {
    cluster.jump(a, random.chance(0.5) ? -random.between(0, 5000) : random.between(0, 300));
  },
];

const FAULTS: readonly Fault[] = [crash, crash, stall, stall, cutOne, cutOne, partition, killOne];

function crash(plan: Plan, a: AgentId, _b: AgentId, ms: number): void {
  if (!isUp(plan, a)) return;
  plan.disks.set(a, plan.cluster.kill(a));
  plan.lossy = true;
  plan.cluster.at(plan.cluster.now + ms, () => {
    if (!plan.healed && !anyEnded(plan)) restart(plan, a);
  });
}

/** For good, with its disk. */
function killOne(plan: Plan, a: AgentId): void {
  if (!isUp(plan, a) || plan.away.size > 0 || plan.ids.length < 4) return;
  plan.cluster.kill(a);
  plan.away.add(a);
  plan.lossy = true;
}

function stall(plan: Plan, a: AgentId, _b: AgentId, ms: number): void {
  if (isUp(plan, a)) plan.cluster.stall(a, ms);
}

/** Under `none` one at a time: two together could keep two agents from hearing of each other. */
function cutOne(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  const { cluster } = plan;
  if (plan.quorum === 'none' && cluster.now < plan.cutUntil) return;
  plan.cutUntil = cluster.now + ms + 1.5 * SUSPECT_MS;
  cluster.cut(a, b);
  cluster.at(cluster.now + ms, () => cluster.mend(a, b));
}

/** One or two agents cut off from the rest, both ways or one. */
function partition(plan: Plan, a: AgentId, b: AgentId, ms: number): void {
  const { cluster, ids, random, quorum } = plan;
  if (quorum === 'none' && random.chance(0.7)) return;
  const side = new Set(random.chance(0.4) ? [a, b] : [a]);
  const oneWay = random.chance(0.5);
  const cuts = ids.flatMap((x) =>
    ids.filter((y) => side.has(x) !== side.has(y) && !(oneWay && side.has(x))).map((y) => [x, y]),
  ) as [AgentId, AgentId][];
  for (const [x, y] of cuts) cluster.cut(x, y);
  cluster.at(cluster.now + ms, () => {
    for (const [x, y] of cuts) cluster.mend(x, y);
  });
  plan.split = true;
}

function isUp({ cluster, disks, away }: Plan, id: AgentId): boolean {
  const agent = cluster.agents.get(id);
  return agent?.alive === true && !agent.end && !disks.has(id) && !away.has(id);
}

function anyEnded({ cluster, away }: Plan): boolean {
  return [...cluster.agents.values()].some((a) => a.end !== null && !away.has(a.id));
}

function restart(plan: Plan, id: AgentId): void {
  const disk = plan.disks.get(id);
  if (!disk) return;
  plan.disks.delete(id);
  plan.cluster.start(id, disk);
}

function heal(plan: Plan): void {
  plan.healed = true;
  plan.cluster.heal();
  plan.cluster.network.loss = 0;
  if (anyEnded(plan)) return;
  for (const id of plan.ids) {
    if (plan.disks.has(id)) restart(plan, id);
    else if (!plan.cluster.agents.has(id)) plan.cluster.start(id);
  }
}

// ---- what must hold

/**
 * Under `majority` an agent that was away when the others ended finds no majority any more and
 * waits for ever (PROTOCOL-CASES A8, D5): nothing is asked of it.
 */
function mustStillEnd(plan: Plan): readonly AgentId[] {
  const living = plan.cluster.living().map((a) => a.id);
  const enough = living.length * 2 > plan.ids.length || !anyEnded(plan);
  return plan.quorum === 'majority' && !enough ? [] : living;
}

function check(plan: Plan): string[] {
  const { cluster, kind, quorum, lossy, split } = plan;
  const violations: string[] = [];
  if (quorum === 'majority' || !split) {
    violations.push(...cluster.impolite(TOLERANCE_MS).map((pair) => `impolite: ${pair}`));
  }
  for (const { id, end } of cluster.agents.values()) {
    if (end && end.code !== 0) violations.push(`${id} ended with ${end.code}: ${end.reason}`);
  }
  const fetched = cluster.fetched();
  const missing = [...cluster.web.keys()].filter((url) => !fetched.has(url));
  if (!lossy && !someoneWasAway(plan) && missing.length > 0)
    violations.push(`missing: ${missing.join(' ')}`);
  const twice = [...fetched].filter(([, times]) => times > 1).map(([url]) => url);
  if (kind === 'calm' && twice.length > 0) violations.push(`twice: ${twice.join(' ')}`);
  return violations;
}

/**
 * Those who ended had removed somebody that is still there, such as one that was stopped for
 * longer than the rest of the crawl took: what it had queued is lost to them as by a crash.
 */
function someoneWasAway({ cluster, ids, away }: Plan): boolean {
  return [...cluster.agents.values()].some(
    ({ id, end }) =>
      end && !away.has(id) && ids.some((x) => !away.has(x) && !end.members.includes(x)),
  );
}

// ---- by hand

function main(): void {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '300' },
      seed: { type: 'string', default: '1' },
      kind: { type: 'string' },
      without: { type: 'string' },
    },
  });
  const kinds = KINDS.filter((kind) => values.kind === undefined || kind === values.kind);
  const rule: Rule | undefined = isRule(values.without) ? values.without : undefined;
  if (values.without !== undefined && !rule) {
    console.error(`no such rule; there are ${RULES.join(', ')}`);
    process.exit(2);
  }
  let bad = 0;
  let requests = 0;
  const first = Number(values.seed);
  const work = () => {
    for (let seed = first; seed < first + Number(values.runs); seed++) {
      for (const kind of kinds) {
        const verdict = runSwarm(seed, kind);
        requests += verdict.requests;
        if (verdict.violations.length === 0) continue;
        bad++;
        const replay = `node test/simulation/swarm.ts --runs 1 --seed ${seed} --kind ${kind}`;
        const [what = ''] = verdict.violations;
        console.log(`${replay}\n  ${verdict.violations.length}: ${what.slice(0, 1500)}`);
      }
    }
  };
  if (rule) without(rule, work);
  else work();
  console.log(`${Number(values.runs) * kinds.length} runs, ${requests} requests, ${bad} bad`);
  if (bad > 0) process.exitCode = 1;
}

if (import.meta.main) main();
