// Schedules that show why a rule of the protocol exists, where chance would rarely hit the moment.
// Each plays one course of events and returns the violations that the web or the agents see; there
// are none while the rule is in force.

import { BOUNDS } from '../../agent/core/protocol/bounds.ts';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { crowded } from '../checkers/addresses.ts';
import { missing } from '../checkers/coverage.ts';
import { choices, losses } from '../checkers/losses.ts';
import { joinAndLeave } from './case-kit.ts';
import { Cluster, SUSPECT_MS } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import type { Rule } from './mutations.ts';
import { HEARTBEAT_MS } from './process.ts';
import {
  robotsAskLost,
  robotsInACircle,
  robotsNeverTold,
  robotsOwnerDies,
} from './robots-schedules.ts';
import { deafToTheRound, lateForTheRound, toldManyTimes } from './round-schedules.ts';
import type { Visit } from './running.ts';
import { drainedAlone } from './shares.ts';
import { chainWeb, denseWeb } from './webs.ts';

const THREE = ['a1', 'a2', 'a3'];
const seeds = ['http://h0.test/p0'];

function crawling(more: Partial<ClusterOptions>): Cluster {
  const c = new Cluster({ ids: THREE, web: denseWeb(8, 60), seeds, ...more });
  c.startAll();
  c.runUntil('the crawl is running', () => c.log.length >= 60);
  return c;
}

function isolate(c: Cluster, id: AgentId, from: readonly AgentId[]): void {
  for (const other of from) {
    c.network.cut(id, other);
    c.network.cut(other, id);
  }
}

/** Under `majority`, the smaller side of a partition stops before the larger one takes over. */
function partition(): string[] {
  const c = crawling({ quorum: 'majority' });
  isolate(c, 'a1', ['a2', 'a3']);
  c.run(3 * SUSPECT_MS);
  return c.impolite();
}

/** A partition with requests that stay open for longer than a takeover needs. */
function partitionWithSlowAnswers(): string[] {
  let slow = false;
  const c = crawling({ quorum: 'majority', requestMs: () => (slow ? 5 * SUSPECT_MS : 12) });
  slow = true;
  c.run(200);
  isolate(c, 'a1', ['a2', 'a3']);
  slow = false;
  c.run(4 * SUSPECT_MS);
  return c.impolite();
}

/** An agent is stalled while alone. When it wakes, no message tells it that others have joined. */
function wakesAlone(): string[] {
  const c = new Cluster({ ids: THREE, web: chainWeb(40, 60), seeds });
  c.start('a1');
  c.runUntil('a1 crawls alone', () => c.log.length >= 60);
  c.stall('a1', 2 * SUSPECT_MS);
  c.lose = (_, to) => to === 'a1';
  c.start('a2');
  c.start('a3');
  c.run(2 * SUSPECT_MS + 300);
  return c.impolite();
}

/**
 * An agent returned while cut off from the others, which now have its hosts. It meets them while
 * they have requests open, and their lists arrive late.
 */
function formedApart(): string[] {
  const c = crawling({ quorum: 'majority', requestMs: () => 1200 });
  c.kill('a1');
  isolate(c, 'a1', ['a2', 'a3']);
  c.start('a1');
  c.run(4 * SUSPECT_MS);
  c.network.heal();
  const healedAt = c.now;
  c.lose = (_, __, { type }) => type === 'LIST' && c.now < healedAt + SUSPECT_MS / 2;
  c.run(SUSPECT_MS);
  const met = c.log.filter((v) => v.start > healedAt);
  const concurrent = met.filter((v) => c.log.some((w) => w.host === v.host && overlaps(w, v)));
  return concurrent.map((v) => `concurrent: ${v.url} by ${v.by}`);
}

function overlaps(w: Visit, v: Visit): boolean {
  return w !== v && w.start < v.start && w.end > v.start;
}

/** A host that is unknown to its new owner was just visited by the dead one. */
function takenOverUnseen(): string[] {
  const ids = ['a1', 'a2'];
  const [mine, theirs] = ids.map((id) => hostOf(ids, (order) => order[0] === id)) as [
    string,
    string,
  ];
  const web = new Map([
    [`http://${mine}/p0`, [`http://${theirs}/x`]],
    [`http://${theirs}/p0`, []],
    [`http://${theirs}/x`, []],
  ]);
  const delayMs = 4 * SUSPECT_MS;
  const own = [...web.keys()].slice(0, 2);
  const c = new Cluster({ ids, web, seeds: own, backups: 0, delayMs });
  c.lose = (_, to, { type }) => to === 'a2' && type === 'URLS';
  c.startAll();
  c.runUntil('each host was requested', () => c.log.length >= 4);
  c.kill('a2');
  c.run(2 * SUSPECT_MS);
  return c.impolite();
}

/** The name of a host with a given preference list. */
function hostOf(ids: readonly AgentId[], is: (order: readonly AgentId[]) => boolean): string {
  const c = new Cluster({ ids, web: new Map(), seeds });
  const names = Array.from({ length: 100 }, (_, i) => `h${i}.test`);
  return names.find((name) => is(c.order(name, ids)))!;
}

/** The pages that are missing when an agent first sends COMPLETE. */
function earlyOf(c: Cluster): string[] {
  let early: string[] | null = null;
  c.watchers.push((_, effects) => {
    const said = effects.some((e) => e.type === 'send' && e.envelope.message.type === 'COMPLETE');
    if (said) early ??= missing(c.log, c.web.keys());
  });
  c.runUntil('all have ended, or one too early', () => early !== null || c.living().length === 0);
  return early ?? [];
}

/** An agent with all the work dies, and one agent notices it before another does. */
function heirIsSlower(): string[] {
  const ids = THREE;
  const host = hostOf(ids, (order) => order.join() === 'a2,a3,a1');
  const url = (p: number) => `http://${host}/p${p}`;
  const web = new Map(Array.from({ length: 30 }, (_, p) => [url(p), p < 29 ? [url(p + 1)] : []]));
  const patience = (id: AgentId) => ({ suspectAfterMs: SUSPECT_MS * (id === 'a3' ? 1.6 : 1) });
  const c = new Cluster({ ids, web, seeds: [url(0)], settings: patience });
  c.startAll();
  c.runUntil('a2 crawls', () => c.log.length >= 10);
  c.kill('a2');
  return earlyOf(c);
}

/** The only open URL moves from agent to agent between their heartbeats. */
function workThatWanders(): string[] {
  const url = (i: number) => `http://h${i}.test/p`;
  const pages = 600;
  const web = new Map(
    Array.from({ length: pages }, (_, i) => [url(i), i + 1 < pages ? [url(i + 1)] : []]),
  );
  const c = new Cluster({
    ...{ ids: THREE, web, seeds: [url(0)], backups: 0, requestMs: () => 1 },
    // Different rates, so that the distance between their heartbeats changes.
    rate: (id) => ({ a1: 0.98, a2: 1 })[id] ?? 1.02,
  });
  c.startAll();
  return earlyOf(c);
}

/** An agent that was removed by one that it cannot hear learns of it through all other agents. */
function goneByHearsay(): string[] {
  const c = crawling({ ids: ['a1', 'a2', 'a3', 'a4'] });
  for (const id of ['a1', 'a3', 'a4']) c.network.cut(id, 'a2');
  c.network.cut('a2', 'a1');
  const inc = c.snapshot('a1').incarnation;
  c.runUntil('a2 has removed all others', () => c.snapshot('a2').members.length === 0);
  c.run(2.5 * HEARTBEAT_MS);
  c.kill('a2');
  c.run(2 * HEARTBEAT_MS);
  return c.snapshot('a1').incarnation > inc ? [] : ['a1 does not know that it was removed'];
}

/** Checks repeatedly what the loss of any single disk would lose. */
function lossesIn(c: Cluster, ms: number, everyMs = 10): string[] {
  const linksOf = (url: string) => c.web.get(url) ?? [];
  for (let looked = 0; looked < ms; looked += everyMs) {
    c.run(everyMs);
    const files = new Map([...c.disks].map(([id, { db }]) => [id, db]));
    const found = losses(files, choices([...c.disks.keys()], 1), linksOf);
    if (found.length > 0) return found;
  }
  return [];
}

/** A crawl of three agents that a fourth joins. No agent waits for it before. */
function threeOfFour(requests = 120): Cluster {
  const c = new Cluster({ ids: [...THREE, 'a4'], web: chainWeb(40, 30), seeds });
  for (const id of THREE) c.start(id);
  c.runUntil('three crawl', () => c.log.length >= requests);
  return c;
}

/** An agent that does not know a newcomer sends URLs for it to the previous owner. */
function sentToTheOwnerBefore(): string[] {
  const c = threeOfFour();
  c.lose = (from, to, { type }) => {
    if (to === 'a1' && ['HEARTBEAT', 'HELLO', 'WELCOME', 'LIST'].includes(type)) return true;
    return to === 'a4' && type === 'URLS' && from !== 'a1';
  };
  c.start('a4');
  return lossesIn(c, 400);
}

/** A newcomer replaces a backup and receives no rows for a while. */
function backupReplaced(): string[] {
  const c = threeOfFour();
  c.lose = (_, to, { type }) => to === 'a4' && type === 'ROWS';
  c.start('a4');
  return lossesIn(c, 500);
}

/** A backup knows the newcomer that replaces it, but the owner does not know it yet. */
function ownerKnowsNoNewcomer(): string[] {
  const c = threeOfFour();
  c.lose = (_, to, { type }) => to === 'a1' && ['HEARTBEAT', 'HELLO', 'WELCOME'].includes(type);
  c.start('a4');
  return lossesIn(c, 400);
}

/** A newcomer replaces backups, which return their copies. Then it dies. */
function backupGivenUp(): string[] {
  const c = threeOfFour(900);
  c.start('a4');
  c.run(SUSPECT_MS);
  c.kill('a4');
  c.wipe('a4');
  c.run(1.5 * SUSPECT_MS);
  return lossesIn(c, 100);
}

/** The backup of one host gets a page as done while the backup of another host gets nothing. */
function oneBackupIsSlow(): string[] {
  // No agent waits for copies, so that the crawl continues.
  const settings = () => ({ bounds: { ...BOUNDS, unreplicated: Infinity } });
  const c = crawling({ web: chainWeb(40, 30), settings });
  c.lose = (_, to, { type }) => to === 'a3' && type === 'ROWS';
  return lossesIn(c, 1500);
}

/**
 * A backup that replaced another lags behind. The first one dies before the second has the missing
 * rows.
 */
function halfCopied(): string[] {
  const host = hostOf(THREE, (order) => order.join() === 'a1,a2,a3');
  const url = (p: number) => `http://${host}/p${p}`;
  const web = new Map(Array.from({ length: 300 }, (_, p) => [url(p), p < 299 ? [url(p + 1)] : []]));
  const settings = () => ({ bounds: { ...BOUNDS, rowEvents: 3 } });
  const c = new Cluster({ ids: THREE, web, seeds: [url(0)], settings, delayMs: 1 });
  c.startAll();
  c.runUntil('the host is known', () => c.log.length >= 20);
  c.kill('a2');
  c.runUntil('a3 is its backup', () => c.snapshot('a1').members.length === 1);
  c.run(300);
  c.lose = (_, to, { type }) => to === 'a3' && type === 'ROWS';
  c.run(300);
  c.lose = () => false;
  return lossesIn(c, 200, 1);
}

/** The owner of an address dies while another agent has a long request open to it (adr/0030). */
function ownerOfAddressDies(): string[] {
  let slow = false;
  const requestMs = () => (slow ? 5 * SUSPECT_MS : 12);
  const c = crawling({ ipDelayMs: 40, addressOf: () => '192.0.2.1', requestMs });
  const owner = c.order('ip:192.0.2.1', THREE)[0]!;
  slow = true;
  // The agent that dies has neither the request nor the lease grant of the host.
  c.runUntil('another agent has a request open', () => {
    const open = c.log.find(({ end }) => end > c.now + 3 * SUSPECT_MS);
    const [by, grantor] = open ? c.order(open.host, THREE) : [owner, owner];
    return by !== owner && grantor !== owner;
  });
  c.kill(owner);
  slow = false;
  c.run(4 * SUSPECT_MS);
  return crowded(c.log, () => 'the only one', { delayMs: 40, toleranceMs: 0 });
}

/** Hosts move to an agent that joins and leaves at once, and return before their delay is over. */
function backWithinTheDelay(): string[] {
  const c = new Cluster({ ids: THREE, web: chainWeb(20, 6), seeds, delayMs: 4000, backups: 0 });
  c.start('a1');
  c.start('a2');
  c.runUntil('the crawl is running', () => c.log.length >= 20, 600_000);
  try {
    for (let times = 0; times < 5; times++) {
      joinAndLeave(c, 'a3');
      c.run(500);
    }
    c.runToEnd(1_000_000);
  } catch (error) {
    return [`the agent failed: ${(error as Error).message}`];
  }
  const bad = [...c.agents.values()].filter(({ end }) => end?.code !== 0);
  const ends = bad.map(({ id, end }) => `${id} ended with ${end?.code}`);
  return [...ends, ...c.impolite(), ...missing(c.log, c.web.keys())];
}

/** Ten agents repeat news of three others at a time. Without faults no agent may be removed. */
function tellsInTurn(): string[] {
  const ids = Array.from({ length: 10 }, (_, k) => `a${k + 1}`);
  const settings = () => ({ bounds: { ...BOUNDS, news: 3 } });
  const c = new Cluster({ ids, web: chainWeb(30, 40), seeds, settings });
  const givenUp = new Set<string>();
  c.watchers.push((agent, effects) => {
    for (const effect of effects) {
      if (effect.type !== 'send' || effect.envelope.message.type !== 'HEARTBEAT') continue;
      const { gone, news } = effect.envelope.message;
      if (news.length > 4) givenUp.add(`${agent.id} repeats news of ${news.length} agents at once`);
      for (const { id, inc } of gone) {
        if (inc >= c.snapshot(id).incarnation) givenUp.add(`${agent.id} removed ${id}`);
      }
    }
  });
  c.startAll();
  c.runUntil('all ended, or one removed another', () => {
    return givenUp.size > 0 || c.living().length === 0;
  });
  return [...givenUp, ...missing(c.log, c.web.keys())];
}

/**
 * The grantor of an address loses all its heartbeats, but not its grants. The others remove it
 * while one of them has a long request open under such a grant (adr/0030).
 */
function granterUnheard(seed: number): string[] {
  let slow = false;
  const requestMs = () => (slow ? 5 * SUSPECT_MS : 30);
  // The asker is the last to remove the grantor of its permit.
  const patience = (id: AgentId) => ({ suspectAfterMs: SUSPECT_MS * (id === asker ? 1.6 : 1) });
  const address = '192.0.2.1';
  const order = new Cluster({ ids: THREE, web: new Map(), seeds }).order(`ip:${address}`, THREE);
  const [granter, successor, asker] = order as [AgentId, AgentId, AgentId];
  const c = crawling({
    ...{ seed, ipDelayMs: 40, addressOf: () => address, requestMs, settings: patience },
  });
  slow = true;
  c.runUntil('the asker has a request open to a host of the successor', () => {
    const open = c.log.find(({ end }) => end > c.now + 3 * SUSPECT_MS);
    if (!open) return false;
    const isIt = open.by === asker && c.order(open.host, THREE)[1] === successor;
    return isIt;
  });
  c.lose = (from, _, { type }) => from === granter && (type === 'HEARTBEAT' || type === 'RELAY');
  slow = false;
  c.run(3 * SUSPECT_MS);
  return crowded(c.log, () => 'the only one', { delayMs: 40, toleranceMs: 0 });
}

/**
 * A host fails, is tested with a page that it served before, and names a wait. Its owner dies during
 * that wait, which no change of a URL carries to the copies.
 */
function ownerDiesAfterTest(): string[] {
  const waitMs = 60_000;
  const [front, tested] = ['http://h0.test/p0', 'http://h1.test/p0'];
  const failing = Array.from({ length: 40 }, (_, i) => `http://h1.test/p${i + 1}`);
  const web = new Map<string, string[]>([
    [front, [tested]],
    [tested, failing],
  ]);
  for (const url of failing) web.set(url, []);
  const named = { status: 503, retryAfterMs: waitMs } as const;
  const c = new Cluster({
    ...{ ids: THREE, web, seeds: [front], requestMs: () => 2000 },
    busy: ({ url, isTest }) => {
      if (isTest) return named;
      return failing.includes(url) ? { status: 502, retryAfterMs: null } : null;
    },
  });
  c.startAll();
  const tests = () => c.log.filter(({ url, whole }) => whole && url === tested);
  c.runUntil('the host is tested', () => tests().length > 1, 20 * 60_000);
  const { host, by, end } = tests()[1]!;
  c.run(2 * HEARTBEAT_MS);
  c.kill(by);
  c.run(waitMs - 3 * HEARTBEAT_MS);
  const early = c.log.filter((visit) => visit.host === host && visit.start > end);
  return early.map(({ url, start }) => `requested ${start - end} ms after the busy answer: ${url}`);
}

/** Schedules by rule. The swarm covers the other rules. */
export const SCHEDULES: Partial<Readonly<Record<Rule, () => string[]>>> = {
  lease: partition,
  'abort-at-lapse': partitionWithSlowAnswers,
  'own-stall': wakesAlone,
  'joined-strangers': formedApart,
  'quorum-by-echo': partition,
  'takeover-delay': takenOverUnseen,
  'equal-views': heirIsSlower,
  'activations-counted': workThatWanders,
  'gone-relayed': goneByHearsay,
  'not-mine-answered': sentToTheOwnerBefore,
  'pruned-on-return': backupReplaced,
  keep: ownerKnowsNoNewcomer,
  'links-here-copied': oneBackupIsSlow,
  'numbers-stay': halfCopied,
  'marks-asked-again': backupGivenUp,
  'slots-end': ownerOfAddressDies,
  // The host that the successor requests first is random.
  'slots-leased': () => [1, 2, 3, 4].flatMap(granterUnheard),
  'round-told': lateForTheRound,
  'round-once': toldManyTimes,
  'round-awaited': deafToTheRound,
  'waits-copied': ownerDiesAfterTest,
  'visits-dropped': backWithinTheDelay,
  'echo-each-time': tellsInTurn,
  'robots-asked-again': robotsAskLost,
  'robots-wait-ends': robotsNeverTold,
  'robots-circles': robotsInACircle,
  'robots-successors-asked': robotsOwnerDies,
  'drained-wait': drainedAlone,
};
