// The swarm: whole clusters of the real core over real tables on virtual time, each drawn from one
// seed, with faults. Then all faults end, and the crawl must finish. During the run and afterwards,
// checkers inspect the web's log, the state files and the status of the agents. Run it manually or
// in CI with `run-swarm.ts`.

import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { crowded } from '../checkers/addresses.ts';
import { disagreements, waiting } from '../checkers/agreement.ts';
import { unlikeCopies } from '../checkers/copies.ts';
import { late, missing, twice } from '../checkers/coverage.ts';
import type { StateFiles } from '../checkers/evidence.ts';
import { Incarnations } from '../checkers/incarnations.ts';
import { choices, losses } from '../checkers/losses.ts';
import { brokenMarks } from '../checkers/marks.ts';
import { brokenRounds } from '../checkers/rounds.ts';
import { brokenRows } from '../checkers/rows.ts';
import { EPOCH, SUSPECT_MS } from './cluster.ts';
import { planFaults, planRefresh, restart } from './faults.ts';
import {
  anyEnded,
  drawPlan,
  type Kind,
  mayStart,
  type OverlayName,
  type Plan,
  SPAN_MS,
  startAgents,
  watchForLoners,
  watchForTheEnd,
} from './plan.ts';
import { HEARTBEAT_MS, THREADS } from './process.ts';
import { disobeyed } from './robots-web.ts';
import { planShares, undrainOne } from './shares.ts';
import { planStranger, STRANGER } from './strangers.ts';

/** After the faults all living agents must end within this time: some forty timeouts. */
const END_MS = 40 * SUSPECT_MS;
/** Longer, if all pages are at one address or hosts have long waits. */
const SERIAL_END_MS = 400 * SUSPECT_MS;
/**
 * After the faults all views must agree within this time: three timeouts, the longest 1.6 times.
 */
const AGREE_MS = 5 * SUSPECT_MS;
/** Clocks differ by at most two per cent, and timers round up. */
const TOLERANCE_SHARE = 0.05;
/** Time before the first COMPLETE in which the other agents may have last reported to be idle. */
const AGREED_MS = 5 * HEARTBEAT_MS;
/** Number of checks of all state files during the crawl. */
const PROBES = 8;

export interface Verdict {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly requests: number;
  readonly tookMs: number;
}

export function runSwarm(seed: number, kind: Kind, overlay: OverlayName = 'ring'): Verdict {
  const plan = drawPlan(seed, kind, overlay);
  const { cluster } = plan;
  const violations: string[] = [];
  watchForLoners(plan);
  watchForTheEnd(plan);
  const incarnations = watchIncarnations(plan);
  startAgents(plan);
  planFaults(plan);
  planRefresh(plan, seed);
  planShares(plan, seed);
  const believed = planStranger(plan, seed);
  for (let i = 0; i < PROBES; i++) {
    const at = EPOCH + plan.random.between(500, SPAN_MS * 1.3);
    cluster.at(at, () => violations.push(...probe(plan)));
  }
  cluster.run(SPAN_MS);
  heal(plan);
  const healedAt = cluster.now;
  const isSlow = cluster.ipDelayMs > 0 || kind === 'waits';
  const endMs = isSlow ? SERIAL_END_MS : END_MS;
  try {
    cluster.runUntil(
      'all have ended',
      () => mustStillEnd(plan).length === 0 || cluster.now >= healedAt + AGREE_MS,
      END_MS,
    );
    violations.push(...agreement(plan));
    cluster.runUntil('all have ended', () => mustStillEnd(plan).length === 0, endMs);
  } catch (error) {
    violations.push(`no end: ${(error as Error).message}`);
  }
  violations.push(
    ...incarnations.offences,
    ...believed,
    ...cluster.refused,
    ...cluster.heavy,
    ...check(plan, incarnations.count),
  );
  if (violations.length === 0) violations.push(...endsOfLate(plan, endMs));
  cluster.close();
  return { seed, violations, requests: cluster.log.length, tookMs: cluster.now - healedAt };
}

function watchIncarnations({ cluster }: Plan): Incarnations {
  const incarnations = new Incarnations();
  const spoken = new Map<AgentId, { core: unknown; inc: number }>();
  cluster.watchers.push(({ id, core }, effects) => {
    for (const effect of effects) {
      if (effect.type !== 'send') continue;
      const { inc } = effect.envelope.from;
      const last = spoken.get(id);
      if (last?.core === core && last.inc === inc) continue;
      spoken.set(id, { core, inc });
      incarnations.begins(id, inc);
    }
  });
  return incarnations;
}

function heal(plan: Plan): void {
  plan.healed = true;
  plan.cluster.network.heal(plan.deadLinks);
  plan.cluster.slowDisks.clear();
  if (anyEnded(plan)) return;
  undrainOne(plan);
  for (const id of plan.ids) {
    if (plan.down.has(id)) restart(plan, id);
    else if (mayStart(plan, id)) plan.cluster.start(id);
  }
}

// ---- what must hold

function files({ cluster, away }: Plan): StateFiles {
  const left = [...cluster.disks].filter(([id]) => !away.has(id));
  return new Map(left.map(([id, { db }]) => [id, db]));
}

/**
 * Holds at any moment: marks are kept, and losing as many disks as there are copies loses nothing.
 */
function probe(plan: Plan): string[] {
  const found = [...brokenRows(files(plan)), ...brokenMarks(files(plan), plan.setBack)];
  const { cluster, ids, away, backups } = plan;
  // A leaving agent counts until it has left. Then its disk does not return.
  const leaving = [...away].some((id) => cluster.agents.get(id)?.end === null);
  if (plan.spent || plan.loners.size > 0 || leaving || cluster.disks.size < ids.length)
    return found;
  const left = ids.filter((id) => !away.has(id));
  const linksOf = (url: string) => cluster.web.get(url) ?? [];
  return [...found, ...losses(files(plan), choices(left, backups), linksOf)];
}

function agreement(plan: Plan): string[] {
  const { cluster, quorum, deadLinks } = plan;
  const living = cluster.living();
  if (living.length < cluster.agents.size - 1 || quorum === 'majority') return [];
  if (deadLinks.length > 0 || living.some((a) => a.stalledUntil > cluster.now)) return [];
  const standings = living.map((a) => cluster.snapshot(a.id));
  if (cluster.isPartial) {
    // After the end, the last agents may not know enough others to decide for a host.
    return [...waiting(standings), ...(anyEnded(plan) ? [] : disputes(cluster))];
  }
  return disagreements(standings);
}

/**
 * Over the Kademlia overlay each host has its true owner, and no other agent decides to own it. A
 * leaver owns no host; it may need long to deliver its URLs.
 */
function disputes(cluster: Plan['cluster']): string[] {
  const living = cluster.living().map((agent) => agent.id);
  const ids = living.filter((id) => cluster.snapshot(id).lifecycle !== 'leaving');
  return [...new Set([...cluster.web.keys()].map((url) => new URL(url).host))].flatMap((host) => {
    const owners = cluster.living().filter(({ id, core }) => core.ownerOf(host) === id);
    const [owner] = cluster.order(host, ids);
    if (owners.length === 1 && owners[0]!.id === owner) return [];
    return [`${host} is owned by ${owners.map(({ id }) => id).join(' and ')}, not by ${owner}`];
  });
}

/**
 * Under `majority` an agent that was absent when the others ended finds no majority any more, so it
 * need not end before they are started again (`endsOfLate`).
 */
function mustStillEnd(plan: Plan): readonly AgentId[] {
  const living = plan.cluster.living().map((a) => a.id);
  const enough = living.length * 2 > plan.ids.length || !anyEnded(plan);
  return plan.quorum === 'majority' && !enough ? [] : living;
}

/**
 * Under `majority`, starts the agents that were absent at the end, and again, one after the other,
 * those that have ended: all must end, and no work of the late ones may be lost.
 */
function endsOfLate(plan: Plan, endMs: number): string[] {
  const { cluster, quorum, away, ids } = plan;
  if (quorum !== 'majority') return [];
  const here = ids.filter((id) => !away.has(id));
  // Agents that linger end first.
  cluster.run(AGREE_MS);
  const finished = here.flatMap((id) => {
    const end = cluster.agents.get(id)?.end;
    return end?.code === 0 ? [{ id, completedBy: end.members! }] : [];
  });
  if ([0, here.length].includes(finished.length)) return [];
  for (const id of here) {
    if (plan.down.has(id)) restart(plan, id);
    else if (!cluster.agents.has(id)) cluster.start(id);
  }
  for (const { id, completedBy } of finished) {
    if (cluster.living().length === 0) break;
    cluster.start(id, completedBy);
    cluster.run(AGREE_MS);
  }
  try {
    cluster.runUntil('the late agents have ended', () => cluster.living().length === 0, endMs);
  } catch (error) {
    return [`no end after the end: ${(error as Error).message}`];
  }
  const isExcused = plan.spent || plan.pagesMax !== null;
  const lost = isExcused ? [] : missing(cluster.log, cluster.web.keys());
  return [...cluster.impolite(TOLERANCE_SHARE * cluster.delayMs), ...lost];
}

function check(plan: Plan, incarnations: number): string[] {
  const { cluster, kind, quorum, split, spent, loners } = plan;
  const violations: string[] = [];
  if (quorum === 'majority' || !split) {
    violations.push(...cluster.impolite(TOLERANCE_SHARE * cluster.delayMs));
    violations.push(...atAddresses(plan));
  }
  for (const { id, end } of cluster.agents.values()) {
    // Started after the end of the crawl, it finds nobody who says so.
    if (
      end?.code === 5 &&
      cluster.isPartial &&
      anyEnded(plan) &&
      /no agent answers/.test(end.reason)
    )
      continue;
    if (end && end.code !== 0) violations.push(`${id} ended with ${end.code}: ${end.reason}`);
  }
  // URLs that an agent settled while alone are only on its disk. That disk may be lost, or absent
  // at the end.
  const without = absent(plan);
  const lost = (spent && loners.size > 0) || without.some((id) => loners.has(id));
  if (!lost && without.length <= plan.backups) {
    const { pagesMax } = plan;
    if (pagesMax === null) violations.push(...missing(cluster.log, cluster.web.keys()));
    else violations.push(...besideLimit(plan, pagesMax, incarnations));
  }
  // Agents that return later may bring new work.
  if (without.length === 0 && !split && !spent)
    violations.push(...late(cluster.log, plan.completeAt));
  violations.push(...disobeyed(cluster.log, cluster.leads), ...accusations(plan));
  if (kind === 'calm' && plan.refreshedAt === null) violations.push(...twice(cluster.log));
  return [...violations, ...checkCopies(plan)];
}

/** No agent sends false messages under any fault, so none may be refused for one. */
function accusations({ cluster, split, longCuts }: Plan): string[] {
  // An agent that a PROBE does not reach can say HELLO and not answer. Only in a partial view is it a
  // stranger then: the others may have stopped to watch it before, or are not known yet.
  const isTrue = (by: AgentId, { agent, claim }: { agent: AgentId; claim: string }) =>
    claim === 'hello' &&
    cluster.isPartial &&
    (split || longCuts.some(([from, to]) => from === by && to === agent));
  return [...cluster.agents.keys()].flatMap((id) =>
    cluster
      .snapshot(id)
      .refused.filter((sum) => sum.agent !== STRANGER && !isTrue(id, sum))
      .map((sum) => `${id} refused: ${JSON.stringify(sum)}`),
  );
}

function atAddresses({ cluster }: Plan): string[] {
  if (cluster.ipDelayMs === 0) return [];
  const rules = { delayMs: cluster.ipDelayMs, toleranceMs: 0.05 * cluster.ipDelayMs };
  return crowded(cluster.log, ({ host }) => cluster.addressOf(host), rules);
}

/**
 * As many pages as the limit, or all; fewer are always a violation. More were fetched only if an
 * agent died with uncopied pages, or if one side of a partition did not know the pages of the
 * other.
 */
function besideLimit(plan: Plan, pagesMax: number, incarnations: number): string[] {
  const { cluster, split, quorum, away } = plan;
  const { size } = cluster.fetched();
  const whole = Math.min(pagesMax, cluster.web.size);
  if (size < whole) return [`only ${size} pages of ${whole} were fetched`];
  // A refresh starts a new count.
  if ((split && quorum === 'none') || plan.refreshedAt !== null) return [];
  const losses = incarnations - cluster.agents.size + away.size;
  const most = pagesMax + 2 * THREADS * losses;
  return size > most ? [`${size} pages were fetched, the limit is ${pagesMax}`] : [];
}

/**
 * The agents that were absent when the others agreed on the end, or when the first one ended. If
 * there are more of them than copies, they may have work.
 */
function absent(plan: Plan): AgentId[] {
  const left = (id: AgentId) => plan.cluster.agents.get(id)?.end?.code === 0;
  return plan.ids.filter((id) => !wasThere(plan, id) && !(plan.away.has(id) && left(id)));
}

/**
 * Whether the agent was present at the agreement on the end, and still when the first agent ended.
 */
function wasThere(plan: Plan, id: AgentId): boolean {
  const members = endedFirst(plan)?.view ?? plan.ids;
  return members.includes(id) && plan.completeBy.includes(id);
}

function endedFirst({ cluster, away }: Plan) {
  // Excludes agents that learned of the end when they returned: they had been removed.
  const saw = (reason: string) => reason === 'the crawl is complete';
  const ended = [...cluster.agents.values()].filter(
    (a) => a.end?.code === 0 && saw(a.end.reason) && !away.has(a.id),
  );
  return ended.map((a) => a.end!).sort((a, b) => a.at - b.at)[0];
}

/** Checks the copies as the first agents to end left them. */
function checkCopies(plan: Plan): string[] {
  const { cluster, away, ids, backups } = plan;
  const members = endedFirst(plan)?.view;
  if (!members) return [];
  // Agents that were absent then continue, or have continued, and move their rows.
  if (ids.some((id) => !away.has(id) && !wasThere(plan, id))) return [];
  // A disk loss or a refresh that happened while the last idle reports were on their way is not
  // waited for.
  const agreedAt = plan.completeAt - AGREED_MS;
  if (ids.some((id) => (cluster.lostAt.get(id) ?? 0) > agreedAt)) return [];
  if ((plan.refreshedAt ?? 0) > agreedAt) return [];
  const order = (host: string) => cluster.order(host, members);
  const theirs = new Map([...files(plan)].filter(([id]) => members.includes(id)));
  return [...unlikeCopies(files(plan), order, backups), ...brokenRounds(theirs, order)];
}
