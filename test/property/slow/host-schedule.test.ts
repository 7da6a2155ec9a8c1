// Compares the schedule of waiting hosts with a model: whatever happens, no host is lost, and none
// is returned before its wait is over.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HostSchedule } from '../../../agent/frontier/schedule/host-schedule.ts';

const HOSTS = 6000;
const numberOf = (host: string) => Number(host.slice(1));

/** The model of a host that has a queue. */
interface Modelled {
  at: 'schedule' | 'visit';
  /** The end of the wait; Infinity: until an event. */
  untilMs: number;
  /** A new URL ends the wait. */
  isOfUrls: boolean;
  isForEvent: boolean;
  /**
   * A pass over all hosts was under way when the wait began and may end it early; the visit then
   * waits again.
   */
  mayEndEarly: boolean;
}

class Model {
  readonly schedule: HostSchedule;
  readonly #hosts = new Map<string, Modelled>();
  readonly #slowUntil = new Map<string, number>();
  #owns = (_: string) => true;
  now = 0;

  constructor() {
    const queuedFrom = (from: number, max: number) => {
      const numbers = [...this.#hosts.keys()].map(numberOf).filter((n) => n >= from);
      const first = numbers.sort((a, b) => a - b).slice(0, max);
      return first.map((number) => ({
        number,
        host: `h${number}`,
        owned: this.#owns(`h${number}`),
      }));
    };
    this.schedule = new HostSchedule(
      { numberOf, queuedFrom },
      (host) => this.#hosts.get(host)?.at === 'visit',
      (host) => this.#slowUntil.get(host) ?? 0,
    );
  }

  get visited(): string[] {
    return [...this.#hosts].filter(([, { at }]) => at === 'visit').map(([host]) => host);
  }

  /** Queues a URL of the host. */
  queue(number: number): void {
    const host = `h${number}`;
    const known = this.#hosts.get(host);
    if (known?.at === 'visit' || !this.#owns(host)) return;
    if (known === undefined) this.#hosts.set(host, ready());
    else if (known.isOfUrls) Object.assign(known, ready());
    this.schedule.schedule(host);
  }

  take(): boolean {
    const next = this.schedule.takeReady(() => true);
    if (next === undefined) return false;
    const known = this.#hosts.get(next.host);
    assert.ok(known, `${next.host} has no queue`);
    assert.equal(known.at, 'schedule', `${next.host} is visited already`);
    assert.ok(
      known.mayEndEarly || known.untilMs <= this.now,
      `${next.host} at ${this.now}, not before ${known.untilMs}`,
    );
    known.at = 'visit';
    return true;
  }

  /** Ends the visit in one of the possible ways. */
  end(host: string, how: number, forMs: number): void {
    const known = this.#hosts.get(host)!;
    const untilMs = this.now + forMs;
    if (how === 0) {
      this.#hosts.delete(host);
      return;
    }
    if (how === 1) {
      Object.assign(known, ready());
      this.#slowUntil.set(host, forMs % 2 === 0 ? untilMs : 0);
      return this.schedule.comeBack(host);
    }
    known.at = 'schedule';
    known.mayEndEarly = this.schedule.nextWakeMs() === 0;
    known.isForEvent = how > 3;
    known.isOfUrls = how === 2;
    known.untilMs = how > 3 ? Infinity : untilMs;
    if (how > 3) return this.schedule.waitFor(host, how === 4 ? 'right' : 'permit');
    this.schedule.sleep(host, untilMs, how === 2 ? 'retries' : 'delay');
  }

  wake(host: string): void {
    const known = this.#hosts.get(host);
    if (known?.isForEvent) Object.assign(known, ready());
    this.schedule.wake(host);
  }

  recheck(host: string): void {
    const known = this.#hosts.get(host);
    if (known?.at === 'schedule') Object.assign(known, ready());
    this.schedule.recheck(host);
  }

  ofAll(is: (known: Modelled) => boolean): void {
    for (const known of this.#hosts.values()) {
      if (known.at === 'schedule' && is(known)) Object.assign(known, ready());
    }
  }

  /** Moves the hosts whose number modulo 5 is `rest` to another agent. */
  lose(rest: number): void {
    const owned = this.#owns;
    this.#owns = (host) => owned(host) && numberOf(host) % 5 !== rest;
    this.schedule.keepOnly(this.#owns);
  }

  pass(ms: number): void {
    this.now += ms;
    this.schedule.goOn();
    this.schedule.wakeUntil(this.now);
  }

  /** Asserts that all remaining hosts are returned once every wait is over. */
  drain(): void {
    this.ofAll(({ isForEvent }) => isForEvent);
    this.schedule.wakeAll();
    for (let turns = 0; this.schedule.nextWakeMs() < Infinity; turns++) {
      assert.ok(turns < 200, 'the schedule becomes empty');
      this.pass(Math.max(0, this.schedule.nextWakeMs() - this.now));
    }
    const isReady = () => (['new', 'back', 'slow'] as const).some((l) => this.schedule.hasReady(l));
    while (isReady()) this.take();
    const lost = [...this.#hosts].filter(([host, { at }]) => at === 'schedule' && this.#owns(host));
    assert.deepEqual(lost, []);
    assert.ok(this.schedule.isEmpty());
  }
}

function ready(): Modelled {
  return { at: 'schedule', untilMs: 0, isOfUrls: false, isForEvent: false, mayEndEarly: false };
}

const step = fc.record({
  what: fc.constantFrom(
    ...(['queue', 'many', 'take', 'takeAll', 'end', 'end', 'end', 'endAll', 'pass'] as const),
    ...(['wake', 'wakeAll', 'recheck', 'recheckAll', 'lose'] as const),
  ),
  number: fc.nat(HOSTS - 1),
  how: fc.nat(5),
  ms: fc.nat(3000),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function play(model: Model, { what, number, how, ms }: Step): void {
  const { visited } = model;
  switch (what) {
    case 'queue':
      return model.queue(number);
    case 'many':
      for (let n = 0; n < ms; n++) model.queue((number + n) % HOSTS);
      return;
    case 'take':
      return void model.take();
    case 'takeAll':
      for (let n = 0; n < ms; n++) model.take();
      return;
    case 'end':
      if (visited.length > 0) model.end(visited[number % visited.length]!, how, ms);
      return;
    case 'endAll':
      for (const host of visited) model.end(host, how, ms);
      return;
    case 'pass':
      return model.pass(ms);
    case 'wake':
      return model.wake(`h${number}`);
    case 'wakeAll':
      model.ofAll(({ isForEvent }) => isForEvent);
      return model.schedule.wakeAll();
    case 'recheck':
      return model.recheck(`h${number}`);
    case 'recheckAll':
      model.ofAll(() => true);
      return model.schedule.recheckAll(() => true);
    case 'lose':
      return model.lose(number % 5);
  }
}

test('host schedule: no host is lost, and none is returned too soon', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const model = new Model();
      for (const one of steps) play(model, one);
      model.drain();
    }),
    { numRuns: 300 },
  );
});
