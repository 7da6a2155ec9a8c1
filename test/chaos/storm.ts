// A storm: faults of every kind, drawn from a seed, on a cluster of real processes that crawls all
// the while; then all are healed, and the crawl has to end complete. It sees to what is promised at
// all: that no more agents are away than there are copies, and that a disk is lost only when the
// copies of what was lost before are there again. Used by random.ts, its test, and the soak.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, gated } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import type { Site } from './harness-site.ts';
import { assertWhole, type Verdict } from './harness-verdict.ts';
import { inflict, type Scene, seedHosts } from './storm-faults.ts';
import { caughtUp, describe, present, statusOf } from './storm-health.ts';
import {
  costsOf,
  drawShape,
  drawSteps,
  type Fault,
  mayBegin,
  type Step,
  type StormShape,
  takesDisk,
  weights,
} from './storm-plan.ts';

const pollMs = 20;

/** Carries steps out, one after the other and as many at once as may be. */
export class Storm {
  /** All that were begun, in order. */
  readonly faults: Fault[] = [];
  /** The same, with the times, for a person to read. */
  readonly told: string[] = [];
  readonly #scene: Scene;
  readonly #awayMax: number;
  readonly #say: (line: string) => void;
  readonly #open = new Set<Fault>();
  readonly #beganMs = steadyMs();
  #failure: unknown = null;

  /** @param say - told each fault as it begins and ends, besides */
  constructor(scene: Scene, awayMax: number, say: (line: string) => void = () => {}) {
    this.#scene = scene;
    this.#awayMax = awayMax;
    this.#say = say;
  }

  /** Begins the fault as soon as it may, and resolves then. Rejects where one before has failed. */
  async begin(fault: Fault): Promise<void> {
    await this.#until(() => mayBegin(fault, [...this.#open], this.#awayMax));
    // What a disk had alone is lost with it: what it had since the last loss must be elsewhere.
    if (takesDisk(fault)) await caughtUp(this.#scene.cluster);
    this.#assertAlive();
    this.#tell(`begins ${JSON.stringify(fault)}`);
    this.faults.push(fault);
    this.#open.add(fault);
    inflict(this.#scene, fault).then(
      () => this.#ended(fault),
      (error: unknown) => {
        this.#failure ??= error;
      },
    );
  }

  /** Resolves when every fault is over and all agents are there. */
  async over(): Promise<void> {
    await this.#until(() => this.#open.size === 0);
    await present(this.#scene.cluster, this.#scene.cluster.ids);
    this.#assertAlive();
    this.#tell('all are there');
  }

  #ended(fault: Fault): void {
    this.#open.delete(fault);
    this.#tell(`is over ${fault.kind} ${fault.ids}`);
  }

  async #until(is: () => boolean): Promise<void> {
    while (!is()) {
      this.#assertAlive();
      await pause(pollMs);
    }
  }

  /** Nobody has ended but those whom a fault befalls. */
  #assertAlive(): void {
    if (this.#failure !== null) throw this.#failure;
    const { cluster } = this.#scene;
    const away = new Set([...this.#open].flatMap(({ ids }) => ids));
    for (const id of cluster.ids) {
      const { end } = cluster.run(id);
      if (away.has(id) || end === null) continue;
      assert.fail(`${id} ended by itself with ${end.code ?? end.signal}: ${end.stderr}`);
    }
  }

  #tell(what: string): void {
    const line = `${((steadyMs() - this.#beganMs) / 1000).toFixed(1)} s ${what}`;
    this.told.push(line);
    this.#say(line);
  }
}

export interface StormRun {
  readonly seed: number;
  readonly seconds: number;
  /** Drawn from the seed where it is not said. */
  readonly agents?: number | undefined;
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
  /** Share of the web that was crawled when the last fault was over, in [0, 1]. */
  readonly shareThen: number;
  /** Requests at the hosts beside the web that came too soon after another. */
  readonly straysBeside: number;
  readonly unseeded: readonly string[];
}

const timing = { heartbeatMs: 150, suspectAfterMs: 2500, delayMs: 500 };
const threads = 8;
const hostsEach = 8;
/**
 * Pages of a few words. Longer ones of this web are so much alike that hosts of hundreds of them are
 * taken for traps, and slowed.
 */
const bodyBytes = 0;
/** Between two faults, beside the waiting for those before. */
const afterMsMax = 2000;
/** The largest host, of thrice the mean, has pages for as long as the faults. */
const pagesASecond = 1000 / timing.delayMs / 3;
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
  const { agents, backups, quorum, awayMax } = shape;
  const pages = Math.max(12, Math.round(seconds * pagesASecond));
  const web = { seed, hosts: hostsEach * agents, pages, bodyBytes, sparse: true };
  const options = { agents, backups, quorum, web, threads, ...timing };
  const { gate, cluster, site } = await gated(t, options);
  await cluster.startAll();
  await present(cluster, cluster.ids);
  const scene: Scene = { cluster, site, seeded: [] };
  const blowing = new Storm(scene, awayMax, run.say);
  try {
    const plan = { seed, ids: cluster.ids, backups, afterMsMax };
    await blow(blowing, drawSteps({ ...plan, suspectAfterMs: timing.suspectAfterMs }), seconds);
    const shareThen = cluster.share();
    gate.open();
    const verdict = await cluster.finish(Math.max(endMsMin, seconds * 1000));
    const unseeded = scene.seeded.filter(({ host, target }) => {
      return site.requests(host, target).length === 0;
    });
    const straysBeside = tooSoonAt(site, cluster.delayMs);
    return {
      ...{
        run,
        told: blowing.told,
        verdict,
        cluster,
        shape,
        faults: blowing.faults,
        shareThen,
        straysBeside,
      },
      unseeded: unseeded.map(({ target }) => target),
    };
  } catch (error) {
    const said = describe(await statusOf(cluster));
    throw new Error(`${again(run, blowing.told)}\n${said}`, { cause: error });
  }
}

/** Until the time is over, and until each kind of fault was there. */
async function blow(blowing: Storm, steps: Iterator<Step, never>, seconds: number): Promise<void> {
  const endMs = steadyMs() + seconds * 1000;
  const due = new Set<string>(Object.keys(weights));
  while (due.size > 0 || steadyMs() < endMs) {
    const { afterMs, fault } = steps.next().value;
    await pause(afterMs);
    await blowing.begin(fault);
    due.delete(fault.kind);
  }
  await blowing.over();
}

/** What a failure says: the command that plays the storm again, and what happened in it. */
function again({ seed, seconds, agents }: StormRun, told: readonly string[]): string {
  const size = agents === undefined ? '' : `--agents ${agents} `;
  const command = `node test/chaos/random.ts ${size}--seconds ${seconds} --seed ${seed}`;
  return `again: ${command}\n${told.join('\n')}`;
}

/** Arrivals at the hosts beside the web; where an answer takes its time they are further apart. */
function tooSoonAt(site: Site, delayMs: number): number {
  const hosts = Array.from({ length: 1 + seedHosts }, (_, host) => site.requests(host));
  const gaps = hosts.flatMap((at) => at.slice(1).map((ms, k) => ms - at[k]!));
  return gaps.filter((gapMs) => gapMs < delayMs - 1).length;
}

/** Nothing missing, no two at a host, no request again beyond what the faults excuse. */
export function assertStormSurvived(survived: Survived): void {
  const { verdict, cluster, faults, straysBeside, unseeded } = survived;
  const costs = costsOf(faults, cluster);
  try {
    assertWhole(verdict, costs);
    const { concurrent, tooSoon } = verdict.judgement;
    const strays = concurrent.count + tooSoon.count + straysBeside;
    assert.ok(strays <= costs.strayMax, `${strays} stray requests, ${costs.strayMax} allowed`);
    assert.deepEqual(unseeded, [], 'taken as seeds, and not fetched');
  } catch (error) {
    throw new Error(again(survived.run, survived.told), { cause: error });
  }
}
