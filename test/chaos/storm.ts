// A storm: faults of every kind, drawn from a seed, on a cluster of real processes that crawls all
// the while; then all are healed, and the crawl has to end complete, judged by what its faults may
// cost (storm-promises.ts, storm-judge.ts). Used by random.ts and process-random.test.ts.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Ring } from '../../assignment/ring.ts';
import { type Cluster, gated } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import { type Site, siteAddress } from './harness-site.ts';
import { assertWhole, type Verdict } from './harness-verdict.ts';
import type { NetworkProxy } from './network-proxy.ts';
import { StormCourse, termsOf } from './storm-course.ts';
import { type Scene, seedHosts } from './storm-faults.ts';
import { StormGround } from './storm-ground.ts';
import { describe, present, statusOf } from './storm-health.ts';
import { judgeStorm, type Span, type StormJudgement, straysAmong } from './storm-judge.ts';
import {
  drawShape,
  drawSteps,
  type Fault,
  type FaultKind,
  type Step,
  type StormShape,
} from './storm-plan.ts';
import { costsOf, healMsMax, type Terms } from './storm-promises.ts';

export interface StormRun {
  readonly seed: number;
  readonly seconds: number;
  /** Drawn from the seed where it is not said. */
  readonly agents?: number | undefined;
  /** Only these, where it is said. */
  readonly kinds?: readonly FaultKind[] | undefined;
  /** Told what happens as it does. */
  readonly say?: (line: string) => void;
}

export interface Survived {
  readonly run: StormRun;
  /** What happened when. */
  readonly told: readonly string[];
  readonly verdict: Verdict;
  readonly cluster: Cluster;
  readonly shape: StormShape;
  readonly faults: readonly Fault[];
  readonly spans: readonly Span[];
  /** Of the web alone. */
  readonly judgement: StormJudgement;
  /** What came of the links that were cut and disturbed. */
  readonly counts: NetworkProxy['counts'];
  /** Share of the web that was crawled when the last fault was over, in [0, 1]. */
  readonly shareThen: number;
  /** Requests at the hosts beside the web that came too soon after another. */
  readonly straysBeside: number;
  readonly unseeded: readonly string[];
}

const timing = { heartbeatMs: 150, suspectAfterMs: 2500, delayMs: 500 };
const threads = 8;
const hostsEach = 8;
/** Of each agent: room for the state of ten minutes, and for what damages set aside. */
const diskKib = 64 * 1024;
/**
 * Pages of a few words. Longer ones of this web are so much alike that hosts of hundreds of them are
 * taken for traps, and slowed.
 */
const bodyBytes = 0;
/** Between two faults, beside the waiting for those before. */
const afterMsMax = 2000;
/** Hosts of the site among which each agent owns one; with 7 of them that fails once in 10^16. */
const siteHosts = 240;
/** Points on the ring for an agent, as the config has them. */
const replicas = 200;
/** What it takes to see that all are there: a poll, and the time agents wait for each other's word. */
const lookMsMax = 2000;
/** The largest host, of thrice the mean, has pages for as long as the faults. */
const pagesASecond = 1000 / timing.delayMs / 3;
/** What it takes until each kind of fault was there. */
const secondsMin = 25;
/** Of what is left to crawl when the faults are over, or for a busy machine. */
const endMsMin = 300_000;

/**
 * Runs a storm and gives what came of it. A failure tells what happened until then, and the command
 * that plays it again.
 */
export async function storm(
  t: { after(clean: () => Promise<void>): void },
  run: StormRun,
): Promise<Survived> {
  const { seed, seconds } = run;
  const shape = drawShape(seed, run.agents);
  const { agents, backups, quorum } = shape;
  const pages = Math.round(Math.max(secondsMin, seconds) * pagesASecond);
  const web = { seed, hosts: hostsEach * agents, pages, bodyBytes, sparse: true };
  const ground = await StormGround.make(t, { agents, seed, diskKib });
  const options = { agents, backups, quorum, web, threads, ...timing, ...ground.options };
  const endless = endlessHosts(agents);
  const { gate, cluster, site } = await gated(t, { ...options, endless });
  ground.mount(t, cluster);
  await cluster.startAll();
  await present(cluster, cluster.ids);
  const scene: Scene = { cluster, ground, site, seeded: [] };
  const course = new StormCourse(scene, shape, run.say);
  try {
    const plan = { seed, ids: cluster.ids, backups, afterMsMax };
    const steps = drawSteps({ ...plan, suspectAfterMs: timing.suspectAfterMs });
    const kinds = new Set(ground.kinds.filter((kind) => run.kinds?.includes(kind) ?? true));
    assert.ok(kinds.size > 0, 'this machine lacks what any of these faults needs');
    const drawn = steps.filter(({ fault }) => kinds.has(fault.kind) && ground.has(fault));
    await blow(course, drawn, kinds, seconds);
    const shareThen = cluster.share();
    gate.open();
    const verdict = await cluster.finish(Math.max(endMsMin, seconds * 1000));
    const unseeded = scene.seeded.filter(({ host, target }) => {
      return site.requests(host, target).length === 0;
    });
    const { told, faults, spans } = course;
    const terms = { ...termsOf(shape, cluster), delayMs: cluster.delayMs };
    return {
      ...{ run, told, verdict, cluster, shape, faults, spans, shareThen },
      judgement: judgeStorm(cluster.web.web, cluster.web.requests(), spans, terms),
      straysBeside: tooSoonAt(site, endless, spans, terms),
      counts: ground.network.counts(),
      unseeded: unseeded.map(({ target }) => target),
    };
  } catch (error) {
    const said = describe(await statusOf(cluster));
    throw new Error(`${playAgain(run, course.told)}\n${said}`, { cause: error });
  }
}

/**
 * For each agent a host that it owns when all are there. Whoever is cut off alone has something to do
 * as long as the gate is shut, and so does not find the crawl complete.
 */
function endlessHosts(agents: number): number[] {
  const members = Array.from({ length: agents }, (_, k) => ({ id: `a${k + 1}`, capacity: 1 }));
  const ring = new Ring(members, { replicas, sha256: (text) => hash('sha256', text, 'buffer') });
  const hosts = Array.from({ length: siteHosts }, (_, k) => seedHosts + 1 + k);
  return members.map(({ id }) => {
    const own = hosts.find((host) => ring.owner(siteAddress(host)) === id);
    assert.ok(own !== undefined, `no host for ${id}`);
    return own;
  });
}

/** Until the time is over, and until each of the kinds was there. */
async function blow(
  course: StormCourse,
  steps: Iterable<Step>,
  kinds: ReadonlySet<FaultKind>,
  seconds: number,
): Promise<void> {
  const endMs = steadyMs() + seconds * 1000;
  const due = new Set(kinds);
  for (const { afterMs, fault } of steps) {
    if (due.size === 0 && steadyMs() >= endMs) break;
    await pause(afterMs);
    await course.begin(fault);
    due.delete(fault.kind);
  }
  await course.over();
}

/** What a failure says: the command that plays the storm again, and what happened in it. */
function playAgain({ seed, seconds, agents, kinds }: StormRun, told: readonly string[]): string {
  const size = agents === undefined ? '' : `--agents ${agents} `;
  const only = kinds === undefined ? '' : `--faults ${kinds} `;
  const command = `node test/chaos/random.ts ${only}${size}--seconds ${seconds} --seed ${seed}`;
  return `again: ${command}\n${told.join('\n')}`;
}

/** Arrivals at the hosts beside the web; where an answer takes its time they are further apart. */
function tooSoonAt(
  site: Site,
  endless: readonly number[],
  spans: readonly Span[],
  terms: Terms & { readonly delayMs: number },
): number {
  const hosts = [...endless, ...Array.from({ length: seedHosts }, (_, k) => k + 1)];
  const strays = hosts.flatMap((host) => {
    const visits = site.requests(host).map((atMs) => ({ startMs: atMs, endMs: atMs }));
    return straysAmong(visits, spans, terms);
  });
  return strays.length;
}

/** Cuts after which all agents saw one another later than they should; alone, or it says nothing. */
function slowHeals(spans: readonly Span[], terms: Terms): string[] {
  return spans.flatMap(({ fault, fromMs, toMs }) => {
    const others = spans.filter((one) => one.fault !== fault);
    const isAlone = others.every((one) => one.toMs < fromMs || one.fromMs > toMs);
    if (fault.kind !== 'cut' || !isAlone) return [];
    const tookMs = toMs - fromMs - fault.forMs;
    return tookMs > healMsMax(terms) + lookMsMax ? [`${fault.ids}: ${Math.round(tookMs)} ms`] : [];
  });
}

/**
 * Nothing missing, no two at a host but from both sides of a cut, no request again beyond what the
 * faults excuse, and all see one another soon after links were cut.
 */
export function assertStormSurvived(survived: Survived): void {
  const { verdict, cluster, shape, faults, spans, judgement, straysBeside, unseeded } = survived;
  const { overlapMax, strayMax } = costsOf(faults, cluster);
  const unlimited = Number.POSITIVE_INFINITY;
  try {
    // What may come again or too soon depends on when, and is judged below.
    assertWhole(verdict, { overlapMax: unlimited, strayMax: unlimited });
    const { again, strays } = judgement;
    assert.ok(
      again.count <= overlapMax,
      `${again.count} fetched again, ${overlapMax} allowed: ${again.samples}`,
    );
    assert.ok(
      strays.count + straysBeside <= strayMax,
      `${strays.count} + ${straysBeside} stray requests, ${strayMax} allowed: ${strays.samples}`,
    );
    assert.deepEqual(slowHeals(spans, termsOf(shape, cluster)), [], 'apart for too long after');
    assert.deepEqual(unseeded, [], 'taken as seeds, and not fetched');
  } catch (error) {
    throw new Error(playAgain(survived.run, survived.told), { cause: error });
  }
}
