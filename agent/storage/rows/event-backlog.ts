// The events of one large host for copies that lag far behind. Event numbers have no index, so the
// rows of the host are read once, by id in slices. Each slice is kept as a sorted run with 12 bytes
// for each event; later events are appended. A read finds its place in each run and merges the
// runs. So several copies can read from different places, and a read costs the same at any place.

import type { RowEvent } from '../../core/protocol/messages.ts';

/** Events in a run of appended events. */
const APPENDED = 8192;
/** An event is stored as its number and, in 32 bits, its kind and its offset in the host. */
const KINDS = ['found', 'again', 'done', 'robots'] as const;
const SLOT_BITS = 28;
const SLOT_MASK = 2 ** SLOT_BITS - 1;

export interface Mention {
  readonly n: number;
  /** The id of a URL, or the origin of a robots.txt. */
  readonly at: number | string;
  readonly kind: RowEvent['kind'];
  /** The event, if it is kept in memory; else it is read from the rows. */
  readonly event?: RowEvent | undefined;
}

interface Run {
  readonly numbers: Float64Array;
  readonly places: Uint32Array;
  length: number;
}

/** The next event of a run. */
interface Cursor {
  readonly run: Run;
  place: number;
}

function runOf(room: number): Run {
  return { numbers: new Float64Array(room), places: new Uint32Array(room), length: 0 };
}

export class EventBacklog {
  /** The backlog holds all events above this number once the rows have been read. */
  since: number;
  /** Events up to this number are read from the rows; later ones are appended. */
  readonly upTo: number;
  readonly #firstId: number;
  #runs: Run[] = [];
  #appended: Run | null = null;
  readonly #origins: string[] = [];
  /** The last id read so far. */
  cursor: number;
  isWhole = false;
  /** When a copy last read from it. */
  askedAt = 0;
  /** Events appended since then. */
  unasked = 0;

  constructor(since: number, upTo: number, firstId: number) {
    this.since = since;
    this.upTo = upTo;
    this.#firstId = firstId;
    this.cursor = firstId - 1;
  }

  asked(at: number): void {
    this.askedAt = at;
    this.unasked = 0;
  }

  /** Adds events read from rows, in any order; sorts `mentions` in place. */
  add(mentions: Mention[]): void {
    if (mentions.length === 0) return;
    mentions.sort((a, b) => a.n - b.n);
    const run = runOf(mentions.length);
    for (const mention of mentions) this.#write(run, mention);
    this.#runs.push(run);
  }

  /** Appends an event, whose number must be the highest so far. */
  append(mention: Mention): void {
    if (!this.#appended || this.#appended.length === APPENDED) {
      this.#appended = runOf(APPENDED);
      this.#runs.push(this.#appended);
    }
    this.#write(this.#appended, mention);
    this.unasked++;
  }

  #write(run: Run, { n, at, kind }: Mention): void {
    const slot = typeof at === 'string' ? this.#origins.push(at) - 1 : at - this.#firstId;
    run.numbers[run.length] = n;
    run.places[run.length++] = (KINDS.indexOf(kind) << SLOT_BITS) | slot;
  }

  /** The first `max` events above `after`, in order of their numbers. */
  above(after: number, max: number): Mention[] {
    const heap: Cursor[] = [];
    for (const run of this.#runs) {
      const place = this.#placeAbove(run, after);
      if (place < run.length) heap.push({ run, place });
    }
    for (let i = heap.length >> 1; i >= 0; i--) sink(heap, i);
    const mentions: Mention[] = [];
    while (mentions.length < max) {
      const least = heap[0];
      if (!least) break;
      mentions.push(this.#mentionAt(least.run, least.place));
      if (++least.place === least.run.length) {
        const last = heap.pop()!;
        if (last !== least) heap[0] = last;
      }
      sink(heap, 0);
    }
    return mentions;
  }

  /** Drops the runs that have no event above `upTo`. */
  trim(upTo: number): void {
    this.since = Math.max(this.since, upTo);
    this.#runs = this.#runs.filter((run) => run.numbers[run.length - 1]! > upTo);
    if (this.#appended && !this.#runs.includes(this.#appended)) this.#appended = null;
  }

  countAbove(after: number): number {
    let count = 0;
    for (const run of this.#runs) count += run.length - this.#placeAbove(run, after);
    return count;
  }

  /** The number of events in memory. */
  get size(): number {
    return this.#runs.reduce((sum, run) => sum + run.length, 0);
  }

  #placeAbove(run: Run, n: number): number {
    let low = 0;
    let high = run.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (run.numbers[middle]! > n) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #mentionAt(run: Run, place: number): Mention {
    const low = run.places[place]!;
    const kind = KINDS[low >>> SLOT_BITS]!;
    const slot = low & SLOT_MASK;
    const at = kind === 'robots' ? this.#origins[slot]! : this.#firstId + slot;
    return { n: run.numbers[place]!, at, kind };
  }
}

function numberOf({ run, place }: Cursor): number {
  return run.numbers[place]!;
}

/** Restores the order of a binary heap below `i`. */
function sink(heap: Cursor[], i: number): void {
  for (let at = i; ; ) {
    let least = 2 * at + 1;
    if (least >= heap.length) return;
    if (least + 1 < heap.length && numberOf(heap[least + 1]!) < numberOf(heap[least]!)) least++;
    if (numberOf(heap[at]!) <= numberOf(heap[least]!)) return;
    [heap[at], heap[least]] = [heap[least]!, heap[at]!];
    at = least;
  }
}
