// Row ids of `urls`. An id consists of the number of the host and, in its low 28 bits, a slot: the
// hash of the key, or the next free slot. So a URL is found without a separate index, by one
// integer look-up in a table that is clustered by host; the key is compared, because two keys may
// have the same hash. Rows are deleted only together with their host, so no search ends too early
// (adr/0032).

import { HalfSipHash } from '../../url/half-sip-hash.ts';
import type { Connection } from './connection.ts';

const SLOT_BITS = 28;
/** Slots of a host. Probe sequences stay short while only a few per cent are in use. */
const SLOTS = 2 ** SLOT_BITS;
/** Ids stay below 2^53, so they are safe integers of JavaScript. */
const HOSTS_MAX = 2 ** (53 - SLOT_BITS);
/** URLs whose ids are cached, because links often repeat the same targets. */
const REMEMBERED_MAX = 4096;

/**
 * SQL: the host of an id, exactly as in the index `queue`. Do not compare it with a bare column,
 * whose type affinity would prevent the use of the index.
 */
export const hostOfId = (id: string): string => `(${id} >> ${SLOT_BITS})`;
/** SQL: whether the id belongs to the host, as a range of ids. */
export const idsOfHost = (id: string, host: string): string =>
  `${id} BETWEEN (${host} << ${SLOT_BITS}) AND ((${host} << ${SLOT_BITS}) | ${SLOTS - 1})`;

/**
 * SQL: the referrer of a row of `urls`. It is stored as the slot of a known URL of the same host,
 * as for nearly all rows, else as a key of the host or a full URL.
 *
 * @param of - converts either the key `r.key` or the stored text
 */
export const referrerOf = (urls: string, of = (stored: string) => stored): string =>
  `CASE typeof(${urls}.referrer)
  WHEN 'integer' THEN (SELECT ${of('r.key')} FROM urls r
    WHERE r.id = ((${urls}.id >> ${SLOT_BITS}) << ${SLOT_BITS}) + ${urls}.referrer)
  ELSE ${of(`${urls}.referrer`)} END`;

/** The number of the host to which the URL belongs. */
export function hostNumberOf(id: number): number {
  return Math.floor(id / SLOTS);
}

/** The ids that rows of the host may have. */
export function idRangeOf(host: number): { first: number; last: number } {
  return { first: host * SLOTS, last: (host + 1) * SLOTS - 1 };
}

interface Known {
  readonly host: number;
  readonly key: string;
  readonly id: number;
}

export class UrlIds {
  readonly #hash: HalfSipHash;
  readonly #s: ReturnType<typeof statements>;
  /** A direct-mapped cache by slot and host: a newer entry replaces an older one. */
  #known: (Known | undefined)[] = [];

  constructor(db: Connection) {
    this.#s = statements(db);
    this.#hash = slotsKeyOf(db);
  }

  /**
   * The id of the URL, or -1 - id, below 0, for the id under which it can be inserted. Throws a
   * RangeError if the host number is too large.
   */
  find(host: number, key: string): number {
    const slot = this.#slotOf(key);
    const place = placeOf(host, slot);
    const known = this.#known[place];
    if (known !== undefined && known.host === host && known.key === key) return known.id;
    if (host >= HOSTS_MAX)
      throw new RangeError(`host number ${host} is too large for a state file`);
    const base = host * SLOTS;
    for (let at = slot; ; at = (at + 1) % SLOTS) {
      const same = this.#s.same.get(key, base + at);
      if (same === undefined) return -1 - (base + at);
      if (same === 0) continue;
      this.#known[place] = { host, key, id: base + at };
      return base + at;
    }
  }

  /** The id that nearly every such URL has; the row may have another key. */
  firstPlace(host: number, key: string): number {
    return host * SLOTS + this.#slotOf(key);
  }

  #slotOf(key: string): number {
    return this.#hash.of(key) >>> (32 - SLOT_BITS);
  }

  /** Caches the id of a row that was just written or read. */
  remember(key: string, id: number): void {
    const slot = this.#slotOf(key);
    const host = hostNumberOf(id);
    this.#known[placeOf(host, slot)] = { host, key, id };
  }

  /**
   * The stored form of a referrer; see {@link referrerOf}.
   *
   * @param short - a key of the host or a full URL
   */
  referrer(host: number, short: string | null): number | string | null {
    if (short === null || short[1] === 't') return short;
    const id = this.find(host, short);
    return id < 0 ? short : id % SLOTS;
  }

  /** Clears the cache, because rows of a host were deleted. */
  forget(): void {
    this.#known = [];
  }
}

/**
 * Returns a test whether a look-up of `key` in its host ends at `id`. It detects corrupted keys in
 * the check of a whole file: SQLite keeps no checksums, and a changed key loses one URL and invents
 * another.
 */
export function placeCheck(db: Connection): (id: number, key: string) => boolean {
  const slots = slotsKeyOf(db);
  const taken = db.prepare<[number], 1>('SELECT 1 FROM urls WHERE id = ?').pluck();
  return (id, key) => {
    const base = hostNumberOf(id) * SLOTS;
    for (let at = slots.of(key) >>> (32 - SLOT_BITS); ; at = (at + 1) % SLOTS) {
      if (base + at === id) return true;
      if (taken.get(base + at) === undefined) return false;
    }
  };
}

/** Many hosts have the same keys, and so the same slots. */
function placeOf(host: number, slot: number): number {
  return ((slot ^ Math.imul(host, 0x9e37_79b1)) >>> 0) % REMEMBERED_MAX;
}

function slotsKeyOf(db: Connection): HalfSipHash {
  const key = db.prepare<[], number>("SELECT value FROM meta WHERE key = 'slots'").pluck();
  return new HalfSipHash(Number(key.get() ?? 0));
}

function statements(db: Connection) {
  return {
    same: db.prepare<[string, number], 0 | 1>('SELECT key = ? FROM urls WHERE id = ?').pluck(),
  };
}
