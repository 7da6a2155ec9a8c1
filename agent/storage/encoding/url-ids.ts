// Where the rows of `urls` are: an id is the number of the host and, below it, a slot of 28 bits by
// the hash of the key, or the next that is free. So a URL is found without an index of its own, by
// one look-up of an integer in a table that is clustered by host; its key is compared, as two may
// meet in a slot. Rows are never deleted but with all of their host, so that no search ends too
// early. Shared by the tables that read and write URLs (adr/0032).

import { HalfSipHash } from '../../url/half-sip-hash.ts';
import type { Connection } from './connection.ts';

const SLOT_BITS = 28;
/** Slots of a host. Chains stay short as long as a host has a few per cent of so many URLs. */
const SLOTS = 2 ** SLOT_BITS;
/** Ids are below 2^53, the whole numbers of JavaScript. */
const HOSTS_MAX = 2 ** (53 - SLOT_BITS);
/** URLs of which the id is remembered: links to the same pages come again and again. */
const REMEMBERED_MAX = 4096;

/**
 * SQL: the host of an id, exactly as the index `queue` has it. What it is compared with must be no
 * bare column: the type of that would keep the index from being used.
 */
export const hostOfId = (id: string): string => `(${id} >> ${SLOT_BITS})`;
/** SQL: whether the id is one of the host's, as a range. */
export const idsOfHost = (id: string, host: string): string =>
  `${id} BETWEEN (${host} << ${SLOT_BITS}) AND ((${host} << ${SLOT_BITS}) | ${SLOTS - 1})`;

/**
 * SQL: the referrer of a row of `urls`. It is stored as the slot of a URL of the same host, where
 * that is known, which nearly all are; else as a key of the host or a whole URL.
 *
 * @param of - what to make of each of the two: a key `r.key`, or what is stored
 */
export const referrerOf = (urls: string, of = (stored: string) => stored): string =>
  `CASE typeof(${urls}.referrer)
  WHEN 'integer' THEN (SELECT ${of('r.key')} FROM urls r
    WHERE r.id = ((${urls}.id >> ${SLOT_BITS}) << ${SLOT_BITS}) + ${urls}.referrer)
  ELSE ${of(`${urls}.referrer`)} END`;

/** The number of the host that the URL belongs to. */
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
  /** By the low bits of the slot: a newer one takes the place of an older. */
  #known: (Known | undefined)[] = [];

  constructor(db: Connection) {
    this.#s = statements(db);
    this.#hash = slotsKeyOf(db);
  }

  /** The id of the URL, or of the place where it would be: then -1 - id, below 0. */
  find(host: number, key: string): number {
    const slot = this.#hash.of(key) >>> (32 - SLOT_BITS);
    const known = this.#known[slot % REMEMBERED_MAX];
    if (known !== undefined && known.host === host && known.key === key) return known.id;
    if (host >= HOSTS_MAX) throw new RangeError(`a state file has no room for host ${host}`);
    const base = host * SLOTS;
    for (let at = slot; ; at = (at + 1) % SLOTS) {
      const same = this.#s.same.get(key, base + at);
      if (same === undefined) return -1 - (base + at);
      if (same === 0) continue;
      this.#known[slot % REMEMBERED_MAX] = { host, key, id: base + at };
      return base + at;
    }
  }

  /** The row was written there just now, or read. */
  remember(key: string, id: number): void {
    const slot = this.#hash.of(key) >>> (32 - SLOT_BITS);
    this.#known[slot % REMEMBERED_MAX] = { host: hostNumberOf(id), key, id };
  }

  /** As it is stored; see {@link referrerOf}. `short`: a key of the host, or a whole URL. */
  referrer(host: number, short: string | null): number | string | null {
    if (short === null || short[1] === 't') return short;
    const id = this.find(host, short);
    return id < 0 ? short : id % SLOTS;
  }

  /** Rows of a host were deleted. */
  forget(): void {
    this.#known = [];
  }
}

/**
 * Whether a look-up of `key` in its host ends at `id`, for the check of a whole file: SQLite keeps
 * no checksums, and a key that has changed would be a URL lost, and one that nobody found.
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

function slotsKeyOf(db: Connection): HalfSipHash {
  const key = db.prepare<[], number>("SELECT value FROM meta WHERE key = 'slots'").pluck();
  return new HalfSipHash(Number(key.get() ?? 0));
}

function statements(db: Connection) {
  return {
    same: db.prepare<[string, number], 0 | 1>('SELECT key = ? FROM urls WHERE id = ?').pluck(),
  };
}
