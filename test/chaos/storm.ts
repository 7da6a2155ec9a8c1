// A storm: random faults of every kind from a seed, on a cluster of real processes while it crawls.
// Then all faults end, and the crawl must complete. The result is judged by what the faults may
// cost (storm-promises.ts, storm-judge.ts). random.ts and process-random.test.ts use it.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, gated, ringOf } from './harness.ts';
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
  /** Drawn from the seed by default. */
  readonly agents?: number | undefined;
  /** Only these kinds, if given. */
  readonly kinds?: readonly FaultKind[] | undefined;
  /** Receives the events of the storm when they happen. */
  readonly say?: (line: string) => void;
}

export interface Survived {
  readonly run: StormRun;
  /** The events with their times. */
  readonly told: readonly string[];
  readonly verdict: Verdict;
  readonly cluster: Cluster;
  readonly shape: StormShape;
  readonly faults: readonly Fault[];
  readonly spans: readonly Span[];
  /** Judgement of the synthetic web only. */
  readonly judgement: StormJudgement;
  /** The proxies' counts for the cut and disturbed links. */
  readonly counts: NetworkProxy['counts'];
  /** Share of the web that was crawled when the last fault was over, in [0, 1]. */
  readonly shareThen: number;
  /** Requests at the other hosts that came too early after another. */
  readonly straysBeside: number;
  readonly unseeded: readonly string[];
}

const timing = { heartbeatMs: 150, suspectAfterMs: 2500, delayMs: 500 };
const threads = 8;
const hostsEach = 8;
/** Size of each agent's disk: enough for the state of ten minutes and for files set aside. */
const diskKib = 64 * 1024;
/**
 * Short pages. Longer pages of this web are so similar that hosts with hundreds of them count as
 * traps and are slowed down.
 */
const bodyBytes = 0;
/** Maximum time between two faults, besides the wait for earlier ones. */
const afterMsMax = 2000;
/** Hosts of the site among which each agent owns one. With 7 agents this fails once in 10^16. */
const siteHosts = 240;
/**
 * Time to see that all agents are present: a poll, and the time that agents wait for each other's
 * answers.
 */
const lookMsMax = 2000;
/** The largest host, three times the mean, has enough pages for the duration of the faults. */
const pagesASecond = 1000 / timing.delayMs / 3;
/** Time until each kind of fault has occurred. */
const secondsMin = 25;
/** Time for the remaining crawl after the faults, on a busy machine. */
const endMsMin = 300_000;

/**
 * Runs a storm and returns its result. A failure lists the events so far and the command that
 * replays the storm.
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
    assert.ok(kinds.size > 0, 'the machine supports at least one of these faults');
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
 * A host for each agent that it owns when all are present. An agent that is cut off alone then has
 * work while the gate is shut, so it does not consider the crawl complete.
 */
function endlessHosts(agents: number): number[] {
  const ids = Array.from({ length: agents }, (_, k) => `a${k + 1}`);
  const ring = ringOf(ids);
  const hosts = Array.from({ length: siteHosts }, (_, k) => seedHosts + 1 + k);
  return ids.map((id) => {
    const own = hosts.find((host) => ring.owner(siteAddress(host)) === id);
    assert.ok(own !== undefined, `no host for ${id}`);
    return own;
  });
}

/** Runs until the end of the time and until each kind has occurred. */
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

/** The failure message: the command that replays the storm, and its events. */
function playAgain({ seed, seconds, agents, kinds }: StormRun, told: readonly string[]): string {
  const size = agents === undefined ? '' : `--agents ${agents} `;
  const only = kinds === undefined ? '' : `--faults ${kinds} `;
  const command = `node test/chaos/random.ts ${only}${size}--seconds ${seconds} --seed ${seed}`;
  return `again: ${command}\n${told.join('\n')}`;
}

/**
 * Number of early requests at the other hosts. It compares arrival times; long answers only
 * increase the distance.
 */
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

/**
 * Cuts after which agents saw each other later than they should. Only cuts without other faults
 * count.
 */
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
 * Asserts that no page is missing, that no host is shared except by both sides of a cut, that
 * repeated requests are within what the faults excuse, and that agents see each other soon after a
 * cut.
 */
export function assertStormSurvived(survived: Survived): void {
  const { verdict, cluster, shape, faults, spans, judgement, straysBeside, unseeded } = survived;
  const { overlapMax, strayMax } = costsOf(faults, cluster);
  const unlimited = Number.POSITIVE_INFINITY;
  try {
    // Repeated and early requests depend on the time and are judged below.
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
    assert.deepEqual(slowHeals(spans, termsOf(shape, cluster)), [], 'the cluster healed too late');
    assert.deepEqual(unseeded, [], 'accepted as seeds, but not fetched');
  } catch (error) {
    throw new Error(playAgain(survived.run, survived.told), { cause: error });
  }
}
