// The swarm: whole clusters of the real core over the real tables on virtual time, each drawn from
// one seed, with faults; then everything heals, and the crawl must come to its end. Checkers look
// at the web's log, at the state files and at what the agents say, while it runs and afterwards.
// By hand and in CI: `run-swarm.ts`.

import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { crowded } from '../checkers/addresses.ts';
import { disagreements } from '../checkers/agreement.ts';
import { unlikeCopies } from '../checkers/copies.ts';
import { missing, twice } from '../checkers/coverage.ts';
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
  type Plan,
  SPAN_MS,
  startAgents,
  watchForLoners,
  watchForTheEnd,
} from './plan.ts';
import { HEARTBEAT_MS, THREADS } from './process.ts';
import { disobeyed } from './robots-web.ts';
import { planStranger, STRANGER } from './strangers.ts';

/** After the healing all living agents must have ended within this: some forty time-outs. */
const END_MS = 40 * SUSPECT_MS;
/** Or within this, where all pages lie at one address, or hosts are waited for. */
const SERIAL_END_MS = 400 * SUSPECT_MS;
/** After the healing all must agree within this: three time-outs, the longest of them 1.6 times. */
const AGREE_MS = 5 * SUSPECT_MS;
/** Clocks run apart by two per cent at most, and the timers round up. */
const TOLERANCE_SHARE = 0.05;
/** So long before the first says COMPLETE the others may have said for the last time to be idle. */
const AGREED_MS = 5 * HEARTBEAT_MS;
/** Looks at all state files while the crawl runs. */
const PROBES = 8;

export interface Verdict {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly requests: number;
  readonly tookMs: number;
}

export function runSwarm(seed: number, kind: Kind): Verdict {
  const plan = drawPlan(seed, kind);
  const { cluster } = plan;
  const violations: string[] = [];
  watchForLoners(plan);
  watchForTheEnd(plan);
  const incarnations = watchIncarnations(plan);
  startAgents(plan);
  planFaults(plan);
  planRefresh(plan, seed);
  const believed = planStranger(plan, seed);
  for (let i = 0; i < PROBES; i++) {
    const at = EPOCH + plan.random.between(500, SPAN_MS * 1.3);
    cluster.at(at, () => violations.push(...probe(plan)));
  }
  cluster.run(SPAN_MS);
  heal(plan);
  const healedAt = cluster.now;
  try {
    cluster.runUntil(
      'all have ended',
      () => mustStillEnd(plan).length === 0 || cluster.now >= healedAt + AGREE_MS,
      END_MS,
    );
    violations.push(...agreement(plan));
    const isSlow = cluster.ipDelayMs > 0 || kind === 'waits';
    const endMs = isSlow ? SERIAL_END_MS : END_MS;
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
  for (const id of plan.ids) {
    if (plan.down.has(id)) restart(plan, id);
    else if (!plan.cluster.agents.has(id)) plan.cluster.start(id);
  }
}

// ---- what must hold

function files({ cluster, away }: Plan): StateFiles {
  const left = [...cluster.disks].filter(([id]) => !away.has(id));
  return new Map(left.map(([id, { db }]) => [id, db]));
}

/** At any moment: marks are kept, and no loss of as many disks as there are copies is a loss. */
function probe(plan: Plan): string[] {
  const found = [...brokenRows(files(plan)), ...brokenMarks(files(plan), plan.setBack)];
  const { cluster, ids, away, backups } = plan;
  // Who leaves counts until it has left; then its disk does not come back.
  const leaving = [...away].some((id) => cluster.agents.get(id)?.end === null);
  if (plan.spent || plan.loners.size > 0 || leaving || cluster.disks.size < ids.length)
    return found;
  const left = ids.filter((id) => !away.has(id));
  const linksOf = (url: string) => cluster.web.get(url) ?? [];
  return [...found, ...losses(files(plan), choices(left, backups), linksOf)];
}

function agreement({ cluster, quorum, deadLinks }: Plan): string[] {
  const living = cluster.living();
  if (living.length < cluster.agents.size - 1 || quorum === 'majority') return [];
  if (deadLinks.length > 0 || living.some((a) => a.stalledUntil > cluster.now)) return [];
  return disagreements(living.map((a) => cluster.snapshot(a.id)));
}

/**
 * Under `majority` an agent that was away when the others ended finds no majority any more and
 * waits for ever: nothing is asked of it.
 */
function mustStillEnd(plan: Plan): readonly AgentId[] {
  const living = plan.cluster.living().map((a) => a.id);
  const enough = living.length * 2 > plan.ids.length || !anyEnded(plan);
  return plan.quorum === 'majority' && !enough ? [] : living;
}

function check(plan: Plan, incarnations: number): string[] {
  const { cluster, kind, quorum, split, spent, loners } = plan;
  const violations: string[] = [];
  if (quorum === 'majority' || !split) {
    violations.push(...cluster.impolite(TOLERANCE_SHARE * cluster.delayMs));
    violations.push(...atAddresses(plan));
  }
  for (const { id, end } of cluster.agents.values()) {
    if (end && end.code !== 0) violations.push(`${id} ended with ${end.code}: ${end.reason}`);
  }
  // What an agent settled while alone is on its disk only: gone, or away when the others ended.
  const without = absent(plan);
  const lost = (spent && loners.size > 0) || without.some((id) => loners.has(id));
  if (!lost && without.length <= plan.backups) {
    const { pagesMax } = plan;
    if (pagesMax === null) violations.push(...missing(cluster.log, cluster.web.keys()));
    else violations.push(...besideLimit(plan, pagesMax, incarnations));
  }
  violations.push(...disobeyed(cluster.log, cluster.leads), ...accusations(plan));
  if (kind === 'calm' && plan.refreshedAt === null) violations.push(...twice(cluster.log));
  return [...violations, ...checkCopies(plan)];
}

/** No agent says what is false, whatever befalls the cluster, so nothing is refused as that. */
function accusations({ cluster }: Plan): string[] {
  return [...cluster.agents.keys()].flatMap((id) =>
    cluster
      .snapshot(id)
      .refused.filter(({ agent }) => agent !== STRANGER)
      .map((sum) => `${id} refused: ${JSON.stringify(sum)}`),
  );
}

function atAddresses({ cluster }: Plan): string[] {
  if (cluster.ipDelayMs === 0) return [];
  const rules = { delayMs: cluster.ipDelayMs, toleranceMs: 0.05 * cluster.ipDelayMs };
  return crowded(cluster.log, ({ host }) => cluster.addressOf(host), rules);
}

/**
 * As many pages as the limit, or all: fewer are a violation always. More were fetched where an
 * agent went down with what it had not copied, or one side of a partition did not know of the
 * other's; without either none is.
 */
function besideLimit(plan: Plan, pagesMax: number, incarnations: number): string[] {
  const { cluster, split, quorum, away } = plan;
  const { size } = cluster.fetched();
  const whole = Math.min(pagesMax, cluster.web.size);
  if (size < whole) return [`only ${size} pages of ${whole} were fetched`];
  // A round that is begun again counts anew.
  if ((split && quorum === 'none') || plan.refreshedAt !== null) return [];
  const losses = incarnations - cluster.agents.size + away.size;
  const most = pagesMax + 2 * THREADS * losses;
  return size > most ? [`${size} pages were fetched, the limit is ${pagesMax}`] : [];
}

/**
 * Whom those did without who agreed on the end, or ended first: more than there are copies may have
 * work (D3).
 */
function absent(plan: Plan): AgentId[] {
  const left = (id: AgentId) => plan.cluster.agents.get(id)?.end?.code === 0;
  return plan.ids.filter((id) => !wasThere(plan, id) && !(plan.away.has(id) && left(id)));
}

/** When they agreed on the end, and still when the first of them ended. */
function wasThere(plan: Plan, id: AgentId): boolean {
  const members = endedFirst(plan)?.members ?? plan.ids;
  return members.includes(id) && plan.completeBy.includes(id);
}

function endedFirst({ cluster, away }: Plan) {
  // Not those who were told so on their return: they had been given up.
  const saw = (reason: string) => reason === 'the crawl is complete';
  const ended = [...cluster.agents.values()].filter(
    (a) => a.end?.code === 0 && saw(a.end.reason) && !away.has(a.id),
  );
  return ended.map((a) => a.end!).sort((a, b) => a.at - b.at)[0];
}

/** As those left it who ended first. */
function checkCopies(plan: Plan): string[] {
  const { cluster, away, ids, backups } = plan;
  const members = endedFirst(plan)?.members;
  if (!members) return [];
  // Those who were away then go on, or have gone on, and move what they have.
  if (ids.some((id) => !away.has(id) && !wasThere(plan, id))) return [];
  // What befell one when the words that all were idle were on their way is not waited for: the loss
  // of a disk, an order for a new round.
  const agreedAt = plan.completeAt - AGREED_MS;
  if (ids.some((id) => (cluster.lostAt.get(id) ?? 0) > agreedAt)) return [];
  if ((plan.refreshedAt ?? 0) > agreedAt) return [];
  const order = (host: string) => cluster.order(host, members);
  const theirs = new Map([...files(plan)].filter(([id]) => members.includes(id)));
  return [...unlikeCopies(files(plan), order, backups), ...brokenRounds(theirs, order)];
}
