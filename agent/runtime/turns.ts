// The main loop of an agent. Inputs (messages, fetch results, commands) are queued and handled in
// turns, one transaction per turn. A turn handles inputs in slices, between which the event loop
// reads the network, until none is left or the turn is old enough: under load many inputs share one
// commit. Effects are performed after the commit, in slices too. Durable effects, which tell others
// that something is safe, are held until a commit has reached the disk; one such commit serves all
// that gathered within some milliseconds.

import type { Instant } from '../../failure-detector/instant.ts';
import type { Clock } from './clock.ts';

/**
 * Limits on one slice of a turn: a number of inputs, and milliseconds for inputs or effects. A slice
 * handles at least one.
 */
const INPUTS_PER_SLICE = 200;
const MS_PER_SLICE = 5;
/** Only after a slice of less time in ms does the end of the turn, with its commit, follow at once. */
const SHORT_MS = 2;
/** A turn of this age in ms ends with its slice. Heartbeats and requests wait for its end. */
const TURN_MS = 50;
/**
 * A patient input waits until this share of the expected inputs has arrived, because a turn costs
 * as much as two pages. If few are expected it does not wait.
 */
const SHARE_AWAITED = 1 / 2;
/** Limit on that wait, in ms. */
const AWAITED_MS_MAX = 25;
/** Time in ms for which durable effects gather before the commit that releases them. */
const GATHER_MS = 20;
/** Interval in ms of attempts to begin a turn while another program locks the store. */
const RETRY_MS = 50;
/** A slice that takes longer, in ms, is reported, because everything else waits for its end. */
const SLOW_MS = 100;

export interface TurnParts<Input, Effect> {
  readonly clock: Clock;
  readonly store: {
    /**
     * @param durable - whether the commit is to be durable
     * @returns false if another program locks the store; the turn cannot begin
     */
    begin(durable: boolean): boolean;
    /** @returns false if it is committed but, although requested, not yet durable */
    commit(durable: boolean): boolean;
  };
  handle(input: Input, now: Instant): void;
  /** Approximate number of inputs that will arrive soon. */
  expected(): number;
  /** Called after the inputs of the turn, for work that is due. */
  due(now: Instant): void;
  /** Called after the commit, before effects are performed. */
  committed(): void;
  /** Monotonic time in ms at which `due` should be called next. */
  nextMs(now: Instant): number;
  /** Removes and returns the effects of the turn. */
  take(): Effect[];
  isDurable(effect: Effect): boolean;
  perform(effect: Effect): void;
  /** Called at each failed attempt to begin a turn, with the time in ms since the first one. */
  blocked(forMs: number): void;
  /** Called after a slow slice; its parts are limited to a tenth of that time. */
  slow(tookMs: number, inputs: readonly Input[]): void;
  /** A turn threw: its transaction is not committed, and the agent cannot continue. */
  failed(error: unknown): void;
}

export class Turns<Input, Effect> {
  readonly #p: TurnParts<Input, Effect>;
  #inputs: Input[] = [];
  #held: Effect[] = [];
  #heldSince = 0;
  #scheduled: NodeJS.Immediate | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Ends the wait of patient inputs. */
  #patience: NodeJS.Timeout | null = null;
  /** Monotonic time in ms of the first failed attempt to begin a turn; null: none failed. */
  #blockedSince: number | null = null;
  /** Monotonic time in ms at which the open turn began; null: none is open. */
  #begunAt: number | null = null;
  /** Duration of the last turn in ms: how long the next one may take. */
  #lastTurnMs = 0;
  /** Whether another turn or slice was requested, or inputs wait that are not patient any more. */
  #isWanted = false;
  /** Whether the open turn takes no further inputs. */
  #isEnding = false;
  /** Effects of the last turn, to be performed before the next one begins. */
  #effects: Effect[] = [];
  /** Whether the commit of the open turn is durable, and releases the held effects. */
  #releases = false;
  #closed = false;

  constructor(parts: TurnParts<Input, Effect>) {
    this.#p = parts;
  }

  /** Queues an input. It is handled after the current events. */
  push(input: Input): void {
    this.#inputs.push(input);
    this.kick();
  }

  /**
   * Queues an input that may wait some milliseconds, so that several share one transaction.
   *
   * @param aloneMs - how long it waits in ms if no other input is expected
   */
  pushPatiently(input: Input, aloneMs = 0): void {
    this.#inputs.push(input);
    const awaited = this.#p.expected() * SHARE_AWAITED;
    const waitMs = awaited < 1 ? aloneMs : AWAITED_MS_MAX;
    if (waitMs === 0 || (awaited >= 1 && this.#inputs.length >= awaited)) this.kick();
    else this.#patience ??= setTimeout(() => this.kick(), waitMs);
  }

  /** Requests a turn soon, even without input. */
  kick(): void {
    if (this.#closed) return;
    this.#isWanted = true;
    if (this.#blockedSince === null) this.#schedule();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#scheduled ??= setImmediate(() => this.#turn());
  }

  /** Another program locks the store: inputs wait, and nothing may be decided. */
  get isBlocked(): boolean {
    return this.#blockedSince !== null;
  }

  /** What was committed is performed; an open turn and later inputs are dropped. */
  close(): void {
    this.#closed = true;
    this.#performUntil(Infinity);
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
      this.#effects = [];
      this.close();
      this.#p.failed(error);
    }
  }

  #run(): void {
    if (this.#effects.length > 0) return this.#perform();
    const startedAt = this.#p.clock.now().mono;
    if (this.#begunAt === null) this.#releases = this.#hasGathered(startedAt + this.#lastTurnMs);
    if (!this.#p.store.begin(this.#releases)) return this.#wait();
    this.#blockedSince = null;
    this.#begunAt ??= startedAt;
    const takes = !this.#isEnding;
    const { handled, now } = takes ? this.#takeInputs() : { handled: [], now: this.#p.clock.now() };
    const isOver = !takes || this.#inputs.length === 0 || now.mono - this.#begunAt >= TURN_MS;
    this.#isEnding = takes && isOver && now.mono - startedAt >= SHORT_MS;
    const ends = isOver && !this.#isEnding;
    if (ends) this.#p.due(now);
    const tookMs = this.#p.clock.now().mono - startedAt;
    if (tookMs > SLOW_MS) this.#p.slow(tookMs, handled);
    if (ends) this.#endTurn(this.#begunAt);
    else this.#schedule();
  }

  #endTurn(begunAt: number): void {
    this.#begunAt = null;
    this.#lastTurnMs = this.#p.clock.now().mono - begunAt;
    const ready = this.#sort(this.#p.take());
    const isDurable = this.#p.store.commit(this.#releases);
    this.#p.committed();
    this.#effects.push(...ready);
    if (this.#releases && isDurable) this.#effects.push(...this.#held.splice(0));
    this.#perform();
  }

  /** Performs effects for the time of a slice; the others follow before the next turn begins. */
  #perform(): void {
    this.#performUntil(this.#p.clock.now().mono + MS_PER_SLICE);
    if (this.#effects.length > 0 || this.#isWanted) this.#schedule();
    else this.#arm();
  }

  #performUntil(until: number): void {
    // An effect may close this object, which then performs the others.
    while (this.#effects.length > 0) {
      this.#p.perform(this.#effects.shift()!);
      if (this.#p.clock.now().mono >= until) break;
    }
  }

  /** @returns the inputs handled in this slice, and the time at their end */
  #takeInputs(): { handled: readonly Input[]; now: Instant } {
    this.#endPatience();
    const inputs = this.#inputs.slice(0, INPUTS_PER_SLICE);
    let now = this.#p.clock.now();
    const until = now.mono + MS_PER_SLICE;
    let handled = 0;
    for (const input of inputs) {
      this.#p.handle(input, now);
      handled++;
      now = this.#p.clock.now();
      if (now.mono >= until) break;
    }
    this.#inputs.splice(0, handled);
    this.#isWanted = this.#inputs.length > 0;
    return { handled: inputs.slice(0, handled), now };
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

  /**
   * Holds durable effects back.
   *
   * @returns the other effects
   */
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

  #hasGathered(at: number): boolean {
    return this.#held.length > 0 && at - this.#heldSince >= GATHER_MS;
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
