// Whether a host still gives anything new: the fingerprints of its last pages, with which each new
// page is compared. A page is stale when its bytes are those of a recent one, or its words nearly
// are. Stale pages are counted in the host's row, two fewer for each page that is new, so that a
// site with some doubles never gets far; a host that only repeats itself is slowed step by step,
// told of with samples, and in the end the rest of its queue is skipped. Used by the aftermath of
// each page; what is remembered is lost with the process and soon learned again.

import type { Host } from '../core/messages.ts';

/** Hosts remembered, those that gave a page last; some kilobytes each. */
const HOSTS_MAX = 1000;
/** Pages of a host that a new one is compared with. */
const RECENT_MAX = 64;
/** Fingerprints that differ in so many bits are of one text. */
const NEAR_BITS = 3;
/** Stale pages to a step of the brake; each step doubles the delay. */
export const STALE_PER_STEP = 50;
/** Sixty-four times the delay. */
const STEPS_MAX = 6;
/** Shown with the event. */
const SAMPLES_MAX = 5;
/** A page that is new makes good for so many that are not. */
const NEW_COUNTS = 2;

/** What is compared of a page. */
export interface Fingerprint {
  readonly digest: string;
  /** 16 hexadecimal digits; null where the page says too little. */
  readonly simhash: string | null;
}

interface Recent {
  readonly prints: (Fingerprint & { readonly high: number; readonly low: number })[];
  samples: string[];
}

/** Doublings of the delay for a host with so many stale pages. */
export function brakeOf(stale: number): number {
  return Math.min(STEPS_MAX, Math.floor(stale / STALE_PER_STEP));
}

export class Novelty {
  readonly #hosts = new Map<Host, Recent>();

  /** Takes in a page. Gives the host's new count of stale pages. */
  count(host: Host, url: string, print: Fingerprint, staleBefore: number): number {
    const recent = this.#recent(host);
    const high = Number.parseInt(print.simhash?.slice(0, 8) ?? '0', 16);
    const low = Number.parseInt(print.simhash?.slice(8) ?? '0', 16);
    const added = { ...print, high, low };
    const isStale = recent.prints.some((known) => isNear(known, added));
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

function isNear(a: Recent['prints'][number], b: Recent['prints'][number]): boolean {
  if (a.digest === b.digest) return true;
  if (a.simhash === null || b.simhash === null) return false;
  return bitsOf(a.high ^ b.high) + bitsOf(a.low ^ b.low) <= NEAR_BITS;
}

function bitsOf(word: number): number {
  let rest = word;
  let bits = 0;
  for (; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}
