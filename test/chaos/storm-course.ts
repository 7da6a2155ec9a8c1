// Carries the faults of a storm out, one after the other and as many at once as what is promised
// allows; keeps what was when, and sees to it that nobody ends whom no fault befalls. Used by the
// storm for all that it draws, and by the soak for one a minute.

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
  /** All that were begun, in order. */
  readonly faults: Fault[] = [];
  /** The same, with the times, in the order of their ends. */
  readonly spans: Span[] = [];
  /** The same, for a person to read. */
  readonly told: string[] = [];
  readonly #scene: Scene;
  readonly #shape: StormShape;
  readonly #say: (line: string) => void;
  readonly #open = new Set<Fault>();
  readonly #beganMs = steadyMs();
  #failure: unknown = null;

  /** @param say - told each fault as it begins and ends, besides */
  constructor(scene: Scene, shape: StormShape, say: (line: string) => void = () => {}) {
    this.#scene = scene;
    this.#shape = shape;
    this.#say = say;
  }

  /** Begins the fault as soon as it may, and resolves then. Rejects where one before has failed. */
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

  /** Resolves when every fault is over and all agents are there. */
  async over(): Promise<void> {
    await this.#until(() => this.#open.size === 0);
    await present(this.#scene.cluster, this.#scene.cluster.ids);
    this.#assertAlive();
    this.#tell('all are there');
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

/** Of a cluster of that shape. */
export function termsOf({ quorum, backups }: StormShape, { suspectAfterMs }: Cluster): Terms {
  return { quorum, backups, suspectAfterMs };
}
