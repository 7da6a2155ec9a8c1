// Runs the faults of a storm, as many at once as the promises allow. It keeps the time of each and
// checks that no agent without a fault ends. The storm uses it for all its faults, and the soak for
// one each minute.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import { inflict, type Scene } from './storm-faults.ts';
import { caughtUp, present } from './storm-health.ts';
import type { Span } from './storm-judge.ts';
import type { Fault, StormShape } from './storm-plan.ts';
import { mayBegin, needsCopies, type Terms } from './storm-promises.ts';

const pollMs = 20;

export class StormCourse {
  /** All faults begun, in order. */
  readonly faults: Fault[] = [];
  /** The faults with their times, in the order of their ends. */
  readonly spans: Span[] = [];
  /** The faults in a form for readers. */
  readonly told: string[] = [];
  readonly #scene: Scene;
  readonly #shape: StormShape;
  readonly #say: (line: string) => void;
  readonly #open = new Set<Fault>();
  readonly #beganMs = steadyMs();
  #failure: unknown = null;

  /** @param say - also called when each fault begins and ends */
  constructor(scene: Scene, shape: StormShape, say: (line: string) => void = () => {}) {
    this.#scene = scene;
    this.#shape = shape;
    this.#say = say;
  }

  /** Begins the fault as soon as it may, and then resolves. Rejects if an earlier fault failed. */
  async begin(fault: Fault): Promise<void> {
    const { cluster } = this.#scene;
    await this.#until(() => mayBegin(fault, [...this.#open], this.#shape.awayMax));
    if (needsCopies(fault, termsOf(this.#shape, cluster))) await caughtUp(cluster);
    this.#assertAlive();
    this.#tell(`begins ${JSON.stringify(fault)}`);
    this.faults.push(fault);
    this.#open.add(fault);
    const fromMs = steadyMs();
    inflict(this.#scene, fault).then(
      () => this.#ended(fault, fromMs),
      (error: unknown) => {
        this.#failure ??= error;
      },
    );
  }

  /** Resolves when every fault is over and all agents are present. */
  async over(): Promise<void> {
    await this.#until(() => this.#open.size === 0);
    await present(this.#scene.cluster, this.#scene.cluster.ids);
    this.#assertAlive();
    this.#tell('all agents are present');
  }

  #ended(fault: Fault, fromMs: number): void {
    this.#open.delete(fault);
    this.spans.push({ fault, fromMs, toMs: steadyMs() });
    this.#tell(`is over ${fault.kind} ${fault.ids}`);
  }

  async #until(is: () => boolean): Promise<void> {
    while (!is()) {
      this.#assertAlive();
      await pause(pollMs);
    }
  }

  /** Asserts that only agents with a fault have ended. */
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

/** The terms of a cluster with this shape. */
export function termsOf({ quorum, backups }: StormShape, { suspectAfterMs }: Cluster): Terms {
  return { quorum, backups, suspectAfterMs };
}
