// A crawl of hours: the first half without faults, the second with a fault of a storm each minute.
// It checks whether anything grows that should not. Run it manually for any time; after only
// minutes it reports that it cannot tell:
// node test/chaos/soak.ts --minutes 720 --seed 1 [--agents 3]
// Exits with 1 if a figure of an agent grows beyond its limit, or if the crawl does not end well.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { agentEnvironment, agentFlags } from '../../agent/cli/agent/agent-environment.ts';
import { Cluster } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import { assertWhole } from './harness-verdict.ts';
import {
  type FigureName,
  figureNames,
  figures,
  type Reading,
  SoakSamples,
} from './soak-samples.ts';
import { type SoakSite, startSoakSite } from './soak-site.ts';
import { limitOf, slopeOf, type Trend, trendOf } from './soak-slopes.ts';
import { StormCourse } from './storm-course.ts';
import type { Scene } from './storm-faults.ts';
import { StormGround, without } from './storm-ground.ts';
import { present } from './storm-health.ts';
import { drawShape, drawSteps, type Fault, type StormShape } from './storm-plan.ts';
import { costsOf, moreFetches } from './storm-promises.ts';

const timing = { heartbeatMs: 250, suspectAfterMs: 4000, delayMs: 1000 };
const threads = 24;
const hostsEach = 8;
const minuteMs = 60_000;
const sampleMs = 5000;
/** Time until caches are full, at most a third of a short half. */
const warmUpMsMax = 20 * minuteMs;
/** For the URLs that are queued at the close: one page a second for each host. */
const endMsMax = 600_000;

interface Soak {
  readonly minutes: number;
  readonly seed: number;
  readonly agents: number;
}

interface Cleaning {
  after(clean: () => Promise<void>): void;
}

async function soak(t: Cleaning, { minutes, seed, agents }: Soak): Promise<void> {
  const site = await startSoakSite(hostsEach * agents, timing.delayMs);
  t.after(() => site.stop());
  const shape = drawShape(seed, agents);
  const { backups, quorum } = shape;
  const ground = await StormGround.make(t, { agents, seed, diskKib: null });
  // The site is endless, and its pages are always new.
  const limits = { depthPerHost: 1_000_000, pagesPerHost: 1_000_000_000, stalePages: null };
  const cluster = await Cluster.make(t, {
    ...{ agents, backups, quorum, threads, ...timing, seeds: site.seeds },
    ...{ web: { hosts: 1, pages: 1 }, config: { limits }, ...ground.options },
  });
  say(`${JSON.stringify(shape)}, ${hostsEach * agents} hosts`);
  await cluster.startAll();
  await present(cluster, cluster.ids);
  const scene: Scene = { cluster, ground, site, seeded: [] };
  const samples = new SoakSamples(cluster);
  const faults = new StormCourse(scene, shape, (line) => say(`  ${line}`));
  const halfMs = (minutes / 2) * minuteMs;
  const beganMs = steadyMs();
  await half(beganMs + halfMs, samples, site);
  const plan = { seed, ids: cluster.ids, backups, suspectAfterMs: timing.suspectAfterMs };
  const drawn = drawSteps({ ...plan, afterMsMax: 0 }).map(({ fault }) => fault);
  const steps = drawn.filter((fault) => ground.has(fault) && isJudged(fault, shape));
  await half(beganMs + 2 * halfMs, samples, site, () => faults.begin(steps.next().value!));
  await faults.over();
  site.close();
  const verdict = await cluster.finish(endMsMax);
  const costs = costsOf(faults.faults, cluster);
  const { missing, strays, overlap, pages } = site.judge(scene.seeded);
  const { length } = faults.faults;
  say(`${pages} pages, ${length} faults, ${overlap} pages again of ${costs.overlapMax} excused`);
  const warmUpMs = Math.min(warmUpMsMax, halfMs / 3);
  const grown = [
    ...trends('without faults', cluster, samples, beganMs, beganMs + halfMs, warmUpMs),
    ...trends('with faults', cluster, samples, beganMs + halfMs, steadyMs(), warmUpMs),
  ];
  assertWhole(verdict, costs);
  assert.deepEqual(missing, [], 'linked, but never answered');
  assert.ok(strays.count <= costs.strayMax, `stray requests: ${JSON.stringify(strays)}`);
  assert.ok(overlap <= costs.overlapMax, `${overlap} pages again, ${costs.overlapMax} excused`);
  assert.deepEqual(grown, [], 'no figure grows');
}

/** The site checks requests when they arrive and does not know the sides of a cut. */
function isJudged(fault: Fault, shape: StormShape): boolean {
  return moreFetches(fault, { ...shape, suspectAfterMs: timing.suspectAfterMs }) === 0;
}

/** Samples until the end of the time. Prints a line each minute and runs `eachMinute`. */
async function half(
  endMs: number,
  samples: SoakSamples,
  site: SoakSite,
  eachMinute: () => Promise<void> = async () => {},
): Promise<void> {
  let minute = -1;
  let begun: Promise<void> = Promise.resolve();
  let failure: unknown = null;
  while (steadyMs() < endMs) {
    const readings = await samples.take();
    if (failure !== null) throw failure;
    const left = Math.floor((endMs - steadyMs()) / minuteMs);
    if (left !== minute) {
      minute = left;
      say(`${new Date().toISOString().slice(11, 19)} ${site.pages()} pages ${lineOf(readings)}`);
      // A fault that must wait for others does not delay the samples.
      begun = begun.then(eachMinute).catch((error: unknown) => {
        failure ??= error;
      });
    }
    await pause(sampleMs);
  }
  await begun;
  if (failure !== null) throw failure;
}

function lineOf(readings: ReadonlyMap<string, Reading>): string {
  const shown = [...readings].map(([id, { rss, descriptors, threads, copyLag, loopDelay }]) => {
    const used = `${rss.toFixed(0)} MiB ${descriptors} fds ${threads} threads`;
    return `${id} ${used} lag ${copyLag} loop ${loopDelay.toFixed(0)} ms`;
  });
  return `| ${shown.join(' | ')}`;
}

/** Prints a line for each agent and figure. Returns those that grow. */
function trends(
  title: string,
  { ids }: Cluster,
  samples: SoakSamples,
  fromMs: number,
  toMs: number,
  warmUpMs: number,
): string[] {
  say(`${title}: level, slope an hour (99 % lie between), limit`);
  return ids.flatMap((id) =>
    figureNames.flatMap((name) => {
      const { line, trend } = trendLine(samples.between(id, name, fromMs, toMs), name, warmUpMs);
      say(`  ${id} ${line}`);
      return trend === 'grows' ? [`${id} ${title}: ${line}`] : [];
    }),
  );
}

function trendLine(
  series: Parameters<typeof slopeOf>[0],
  name: FigureName,
  warmUpMs: number,
): { line: string; trend: Trend } {
  const { unit, ...limit } = figures[name];
  const slope = slopeOf(series, warmUpMs);
  const trend = trendOf(slope, limit);
  const { level, perHour, low, high, spanMs } = slope;
  const [at, by, from, to] = [level, perHour, low, high].map((value) => value.toFixed(1));
  const most = limitOf(limit, spanMs).toFixed(1);
  const over = `over ${(spanMs / minuteMs).toFixed(0)} min`;
  return {
    line: `${name} ${at} ${unit}, ${by} (${from} to ${to}) ${unit}/h of ${most} ${over}: ${trend}`,
    trend,
  };
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Gives agents the memory options of `launch`. Agents of the harness inherit them. */
function asLaunched(): void {
  const NODE_OPTIONS = [process.env.NODE_OPTIONS ?? '', ...agentFlags()].join(' ').trim();
  Object.assign(process.env, agentEnvironment(), { NODE_OPTIONS });
}

async function main(): Promise<void> {
  asLaunched();
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { minutes: text, seed: text, agents: text } });
  const { minutes = 720, seed = Date.now() % 100_000, agents = 3 } = values;
  say(`--minutes ${minutes} --seed ${seed} --agents ${agents}${without()}`);
  const cleanings: (() => Promise<void>)[] = [];
  try {
    const given = { minutes: Number(minutes), seed: Number(seed), agents: Number(agents) };
    await soak({ after: (clean) => cleanings.push(clean) }, given);
    say('the crawl is complete, and no growth was found');
  } finally {
    for (const clean of cleanings.toReversed()) await clean();
  }
}

if (import.meta.main) await main();
