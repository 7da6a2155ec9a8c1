// Whether a host still gives anything new: the fingerprints of its last pages, with which each new
// page is compared. A page is stale when its bytes are those of a recent one, or its words nearly
// are. Stale pages are counted in the host's row, two fewer for each page that is new, so that a
// site with some doubles never gets far; a host that only repeats itself is slowed step by step,
// told of with samples, and in the end the rest of its queue is skipped. Used for the outcome of
// each page; what is remembered is lost with the process and soon learned again.

import type { Host } from '../../core/protocol/messages.ts';

/** Hosts remembered, those that gave a page last; some kilobytes each. */
const HOSTS_MAX = 1000;
/** Pages of a host that a new one is compared with. */
const RECENT_MAX = 64;
/** Fingerprints that differ in so many bits are of one text. */
const NEAR_BITS = 3;
/** Stale pages to a step of the slow-down; each step doubles the delay. */
export const STALE_PER_STEP = 50;
/** Sixty-four times the delay. */
const STEPS_MAX = 6;
/** Shown with the event. */
const SAMPLES_MAX = 5;
/** A page that is new makes good for so many that are not. */
const NEW_COUNTS = 2;

/** Where the digits of a digest begin. */
const DIGEST_AT = 'sha256:'.length;

/** What is compared of a page. */
export interface Fingerprint {
  /** `sha256:` and hexadecimal digits. */
  readonly digest: string;
  /** 16 hexadecimal digits; null where the page says too little. */
  readonly simhash: string | null;
}

/** With the two halves of the simhash, and the start of the digest, as numbers of 32 bits. */
interface Print extends Fingerprint {
  readonly start: number;
  readonly high: number;
  readonly low: number;
}

interface Recent {
  readonly prints: Print[];
  samples: string[];
}

/** Doublings of the delay for a host with so many stale pages. */
export function slowDownOf(stale: number): number {
  return Math.min(STEPS_MAX, Math.floor(stale / STALE_PER_STEP));
}

export class Novelty {
  readonly #hosts = new Map<Host, Recent>();

  /** Takes in a page. Gives the host's new count of stale pages. */
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

  /** The last stale URLs of the host. */
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

/** A loop and no more: it is asked of each page about all that are remembered. */
function isNearAny(prints: readonly Print[], added: Print): boolean {
  const { digest, simhash, start, high, low } = added;
  for (const known of prints) {
    if (known.start === start && known.digest === digest) return true;
    if (known.simhash === null || simhash === null) continue;
    if (bitsOf(known.high ^ high) + bitsOf(known.low ^ low) <= NEAR_BITS) return true;
  }
  return false;
}

/** All bits at once: of pairs, of fours, of bytes, and the bytes together. */
function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
