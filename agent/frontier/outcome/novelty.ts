// Detects hosts whose pages repeat. Each new page is compared with the fingerprints of the host's
// last pages. It is a duplicate if its bytes equal those of a recent page, or if its text nearly
// does. The host's duplicate score (`stale`) grows by one for each duplicate and falls by two for
// each new page, so a site with some duplicates never gets far. A growing score slows the host step
// by step and is reported with samples; at last the rest of the queue is skipped. The fingerprints
// are in memory only and are soon learned again after a restart.

import type { Host } from '../../core/protocol/messages.ts';

/** Maximum of hosts remembered, the most recently used; some kilobytes each. */
const HOSTS_MAX = 1000;
/** Number of recent pages of a host that a new page is compared with. */
const RECENT_MAX = 64;
/** Simhashes that differ in at most this many bits count as the same text. */
const NEAR_BITS = 3;
/** Duplicate score for each step of the slow-down; each step doubles the delay. */
export const STALE_PER_STEP = 50;
/** At most 2^6 = 64 times the delay. */
const STEPS_MAX = 6;
/** Number of duplicate URLs reported with an event. */
const SAMPLES_MAX = 5;
/** How much a new page reduces the duplicate score. */
const NEW_COUNTS = 2;

/** Offset of the first digit in a digest. */
const DIGEST_AT = 'sha256:'.length;

interface Fingerprint {
  /** `sha256:` and hexadecimal digits. */
  readonly digest: string;
  /** 16 hexadecimal digits; null: the page has too little text. */
  readonly simhash: string | null;
}

/** A fingerprint with the start of the digest and the halves of the simhash as 32-bit numbers. */
interface Print extends Fingerprint {
  readonly start: number;
  readonly high: number;
  readonly low: number;
}

interface Recent {
  readonly prints: Print[];
  samples: string[];
}

/** @returns how often the delay is doubled for a host with this duplicate score */
export function slowDownOf(stale: number): number {
  return Math.min(STEPS_MAX, Math.floor(stale / STALE_PER_STEP));
}

export class Novelty {
  readonly #hosts = new Map<Host, Recent>();

  /** Compares a page with the host's recent ones. Returns the host's new duplicate score. */
  count(host: Host, url: string, print: Fingerprint, staleBefore: number): number {
    const recent = this.#recent(host);
    const high = Number.parseInt(print.simhash?.slice(0, 8) ?? '0', 16) | 0;
    const low = Number.parseInt(print.simhash?.slice(8) ?? '0', 16) | 0;
    const start = Number.parseInt(print.digest.slice(DIGEST_AT, DIGEST_AT + 8), 16) | 0;
    const added = { ...print, start, high, low };
    const isStale = isNearAny(recent.prints, added);
    if (!isStale) {
      recent.prints.push(added);
      if (recent.prints.length > RECENT_MAX) recent.prints.shift();
      return Math.max(0, staleBefore - NEW_COUNTS);
    }
    recent.samples = [...recent.samples, url].slice(-SAMPLES_MAX);
    return staleBefore + 1;
  }

  /** The URLs of the host's last duplicates. */
  samples(host: Host): readonly string[] {
    return this.#hosts.get(host)?.samples ?? [];
  }

  #recent(host: Host): Recent {
    const recent = this.#hosts.get(host) ?? { prints: [], samples: [] };
    this.#hosts.delete(host);
    this.#hosts.set(host, recent);
    if (this.#hosts.size > HOSTS_MAX) {
      const [oldest] = this.#hosts.keys();
      this.#hosts.delete(oldest!);
    }
    return recent;
  }
}

/** A plain loop for speed: it runs over all remembered pages for each page. */
function isNearAny(prints: readonly Print[], added: Print): boolean {
  const { digest, simhash, start, high, low } = added;
  for (const known of prints) {
    if (known.start === start && known.digest === digest) return true;
    if (known.simhash === null || simhash === null) continue;
    if (bitsOf(known.high ^ high) + bitsOf(known.low ^ low) <= NEAR_BITS) return true;
  }
  return false;
}

/** Counts the set bits: adds them in pairs, then groups of four, then bytes, then all bytes. */
function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
