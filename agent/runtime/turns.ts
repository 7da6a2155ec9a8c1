// The loop of an agent: inputs (messages, outcomes, commands) queue up and are handled in turns,
// each turn one transaction. Under load a turn takes in whatever came while the last one was
// written, which is a group commit. Effects are performed after the commit;
// those that say "it is safe here" are held until a commit has reached the disk, one for all that
// gathered within a few milliseconds.

import type { Instant } from '../../failure-detector/instant.ts';
import type { Clock } from './clock.ts';

/**
 * A turn takes inputs until one of these is reached, and one input at least: heartbeats and timers
 * have to wait for its end. What is left waits for the next turn.
 */
const INPUTS_PER_TURN = 200;
const INPUTS_MS_PER_TURN = 10;
/**
 * An input that may wait does so for half of those that are expected: a turn costs as much as two
 * pages by itself. Where little is expected it waits for nobody, and never longer than this.
 */
const SHARE_AWAITED = 1 / 2;
const AWAITED_MS_MAX = 25;
/** How long durable effects gather before the commit that they wait for. */
const GATHER_MS = 8;
/** While another program holds the store, it is asked again so often; the loop goes on meanwhile. */
const RETRY_MS = 50;
/** A turn whose work takes longer is told of: heartbeats and all hosts wait for its end. */
const SLOW_MS = 100;

export interface TurnParts<Input, Effect> {
  readonly clock: Clock;
  readonly store: {
    /** False where another program holds it: no turn can begin. */
    begin(): boolean;
    /** False where it was committed, and is not durable yet though that was asked for. */
    commit(durable: boolean): boolean;
  };
  handle(input: Input, now: Instant): void;
  /** About how many inputs may come before long. */
  expected(): number;
  /** After the inputs of the turn: whatever is due. */
  due(now: Instant): void;
  committed(): void;
  /** When `due` wants to be called next, on the monotonic clock. */
  nextMs(now: Instant): number;
  take(): Effect[];
  isDurable(effect: Effect): boolean;
  perform(effect: Effect): void;
  /** No turn could begin for so long; called at each attempt that fails. */
  blocked(forMs: number): void;
  /** The work of a turn took so long, though its parts are bounded to a tenth of it. */
  slow(tookMs: number, inputs: readonly Input[]): void;
  /** A turn threw: its transaction is not committed and the agent cannot go on. */
  failed(error: unknown): void;
}

export class Turns<Input, Effect> {
  readonly #p: TurnParts<Input, Effect>;
  #inputs: Input[] = [];
  #held: Effect[] = [];
  #heldSince = 0;
  #scheduled: NodeJS.Immediate | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Ends the wait of inputs that were pushed as patient. */
  #patience: NodeJS.Timeout | null = null;
  /** Since when no turn could begin, on the monotonic clock. */
  #blockedSince: number | null = null;
  #closed = false;

  constructor(parts: TurnParts<Input, Effect>) {
    this.#p = parts;
  }

  /** Queues an input; its turn comes after the events that are being handled now. */
  push(input: Input): void {
    this.#inputs.push(input);
    this.kick();
  }

  /** Queues an input that may wait some milliseconds for others: one transaction for all. */
  pushPatiently(input: Input): void {
    this.#inputs.push(input);
    const awaited = this.#p.expected() * SHARE_AWAITED;
    if (this.#inputs.length >= awaited) this.kick();
    else this.#patience ??= setTimeout(() => this.kick(), AWAITED_MS_MAX);
  }

  /** Asks for a turn soon, though nothing came in. */
  kick(): void {
    if (this.#closed || this.#blockedSince !== null) return;
    this.#schedule();
  }

  #schedule(): void {
    this.#scheduled ??= setImmediate(() => this.#turn());
  }

  /** Another program holds the store: what comes in waits, and nothing may be decided. */
  get isBlocked(): boolean {
    return this.#blockedSince !== null;
  }

  close(): void {
    this.#closed = true;
    if (this.#scheduled) clearImmediate(this.#scheduled);
    if (this.#timer) clearTimeout(this.#timer);
    this.#endPatience();
  }

  #turn(): void {
    this.#scheduled = null;
    if (this.#closed) return;
    try {
      this.#run();
    } catch (error) {
      this.close();
      this.#p.failed(error);
    }
  }

  #run(): void {
    if (!this.#p.store.begin()) return this.#wait();
    this.#blockedSince = null;
    this.#endPatience();
    const startedAt = this.#p.clock.now().mono;
    const { handled, now } = this.#takeInputs();
    this.#p.due(now);
    const tookMs = this.#p.clock.now().mono - startedAt;
    if (tookMs > SLOW_MS) this.#p.slow(tookMs, handled);
    const ready = this.#sort(this.#p.take());
    const release = this.#held.length > 0 && this.#gathered();
    const isDurable = this.#p.store.commit(release);
    this.#p.committed();
    for (const effect of ready) this.#p.perform(effect);
    if (release && isDurable) this.#release();
    if (this.#inputs.length > 0) this.kick();
    else this.#arm();
  }

  /** Handles the inputs of one turn; gives them, and the time at their end. */
  #takeInputs(): { handled: readonly Input[]; now: Instant } {
    const inputs = this.#inputs.slice(0, INPUTS_PER_TURN);
    let now = this.#p.clock.now();
    const until = now.mono + INPUTS_MS_PER_TURN;
    let handled = 0;
    for (const input of inputs) {
      this.#p.handle(input, now);
      handled++;
      now = this.#p.clock.now();
      if (now.mono >= until) break;
    }
    return { handled: this.#inputs.splice(0, handled), now };
  }

  #endPatience(): void {
    if (this.#patience) clearTimeout(this.#patience);
    this.#patience = null;
  }

  #wait(): void {
    const now = this.#p.clock.now().mono;
    this.#blockedSince ??= now;
    this.#p.blocked(now - this.#blockedSince);
    if (this.#closed) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#schedule(), RETRY_MS);
  }

  /** Keeps the durable ones back; gives the others. */
  #sort(effects: Effect[]): Effect[] {
    const ready: Effect[] = [];
    for (const effect of effects) {
      if (!this.#p.isDurable(effect)) ready.push(effect);
      else {
        if (this.#held.length === 0) this.#heldSince = this.#p.clock.now().mono;
        this.#held.push(effect);
      }
    }
    return ready;
  }

  #gathered(): boolean {
    return this.#p.clock.now().mono - this.#heldSince >= GATHER_MS;
  }

  #release(): void {
    const held = this.#held;
    this.#held = [];
    for (const effect of held) this.#p.perform(effect);
  }

  #arm(): void {
    if (this.#closed) return;
    if (this.#timer) clearTimeout(this.#timer);
    const now = this.#p.clock.now();
    const holdMs = this.#held.length > 0 ? this.#heldSince + GATHER_MS - now.mono : Infinity;
    const waitMs = Math.min(this.#p.nextMs(now) - now.mono, holdMs);
    if (waitMs <= 0) return this.kick();
    this.#timer = setTimeout(() => this.kick(), Math.max(1, Math.ceil(waitMs)));
  }
}
