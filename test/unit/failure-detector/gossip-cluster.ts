// A simulated cluster that only exchanges heartbeats: the part of the protocol that the detector
// and the lease need. Each agent has its own clock rate and origin. `link` decides how long each
// heartbeat takes, or that it is lost. A suspicion is final, as in the protocol. The whole protocol
// has its own simulator.

import { FailureDetector } from '../../../failure-detector/detector.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import { Lease } from '../../../failure-detector/lease.ts';

export interface GossipOptions {
  /** One entry per agent: the rate of its clocks relative to true time; 1 is exact. */
  readonly rates: readonly number[];
  readonly heartbeatMs: number;
  readonly suspectAfterMs: number;
  readonly leaseMs: number;
  /** Milliseconds of true time that a heartbeat sent now takes; null if it is lost. */
  readonly link: (from: number, to: number, nowMs: number) => number | null;
}

export interface Removal {
  readonly by: number;
  readonly of: number;
  readonly atMs: number;
}

/** Simulated time advances in steps of this size; everything due within a step happens in it. */
const stepMs = 10;

interface Agent {
  readonly detector: FailureDetector;
  readonly lease: Lease;
  readonly rate: number;
  readonly originMs: number;
  readonly gone: Set<number>;
  counter: number;
  nextHeartbeatMs: number;
  alive: boolean;
}

interface Heartbeat {
  readonly from: number;
  readonly to: number;
  readonly arrivesMs: number;
  readonly counters: ReadonlyMap<number, number>;
}

export class GossipCluster {
  readonly removals: Removal[] = [];
  nowMs = 0;
  readonly #options: GossipOptions;
  readonly #agents: Agent[];
  #inFlight: Heartbeat[] = [];

  constructor(options: GossipOptions) {
    this.#options = options;
    this.#agents = options.rates.map((rate, i) => ({
      detector: new FailureDetector({ suspectAfterMs: options.suspectAfterMs }),
      lease: new Lease({ leaseMs: options.leaseMs }),
      rate,
      originMs: 1000 * i,
      gone: new Set(),
      counter: 0,
      nextHeartbeatMs: 0,
      alive: true,
    }));
    this.#agents.forEach((agent, i) => {
      this.#others(i).forEach((other) => {
        agent.detector.watch(String(other), 0, this.clock(i).mono);
      });
    });
  }

  /** The current readings of an agent's clocks. */
  clock(i: number): Instant {
    const { rate, originMs } = this.#agents[i]!;
    const mono = originMs + this.nowMs * rate;
    return { mono, wall: 1_700_000_000_000 + mono };
  }

  detector(i: number): FailureDetector {
    return this.#agents[i]!.detector;
  }

  lease(i: number): Lease {
    return this.#agents[i]!.lease;
  }

  kill(i: number): void {
    this.#agents[i]!.alive = false;
  }

  /** Adds another agent to the view again, as after a rejoin; its counter continues. */
  readmit(by: number, of: number): void {
    this.#agents[by]!.gone.delete(of);
    this.detector(by).watch(String(of), this.#agents[of]!.counter, this.clock(by).mono);
  }

  /** Runs until `untilMs` of true time; calls `check` after each step. */
  runUntil(untilMs: number, check: () => void = () => {}): void {
    while (this.nowMs < untilMs) {
      this.nowMs += stepMs;
      this.#deliver();
      for (let i = 0; i < this.#agents.length; i++) if (this.#agents[i]!.alive) this.#turn(i);
      check();
    }
  }

  #others(i: number): number[] {
    return [...this.#agents.keys()].filter((other) => other !== i);
  }

  #turn(i: number): void {
    const agent = this.#agents[i]!;
    const now = this.clock(i);
    for (const id of agent.detector.suspected(now.mono)) {
      agent.detector.forget(id);
      agent.gone.add(Number(id));
      this.removals.push({ by: i, of: Number(id), atMs: this.nowMs });
    }
    if (now.mono - agent.originMs < agent.nextHeartbeatMs) return;
    agent.nextHeartbeatMs = now.mono - agent.originMs + this.#options.heartbeatMs;
    agent.lease.sent(++agent.counter, now);
    const counters = new Map([[i, agent.counter]]);
    for (const other of this.#others(i)) {
      const counter = agent.detector.counter(String(other));
      if (counter !== undefined) counters.set(other, counter);
    }
    for (const to of this.#others(i)) {
      const delayMs = this.#options.link(i, to, this.nowMs);
      if (delayMs === null) continue;
      this.#inFlight.push({ from: i, to, arrivesMs: this.nowMs + delayMs, counters });
    }
  }

  #deliver(): void {
    const due = this.#inFlight.filter((one) => one.arrivesMs <= this.nowMs);
    this.#inFlight = this.#inFlight.filter((one) => one.arrivesMs > this.nowMs);
    for (const { from, to, counters } of due) {
      const agent = this.#agents[to]!;
      if (!agent.alive || agent.gone.has(from)) continue;
      for (const [of, counter] of counters) {
        if (of === to) agent.lease.echoed(String(from), counter);
        else agent.detector.news(String(of), counter, this.clock(to).mono);
      }
    }
  }
}
