/**
 * The memory for bodies of one agent. The first mebibyte of a body is free, since most pages are
 * smaller. Beyond that a body reserves in advance all that it may become, in order of arrival; while
 * it waits it is not read. A body that reserved only what it has would have to reserve again, and
 * several could wait for one another for ever. The reservation lasts until the body is parsed and
 * archived: a queue of bodies for the parse threads is memory as well. `page-pipeline.ts` opens an
 * account for each request and closes it, whatever comes of the request; `exchange.ts` draws on it.
 */

/** Of every body; so much may be held of each open request at worst. */
export const BODY_BYTES_FREE = 1024 * 1024;

/** Sitemaps, and pages under a high `limits.bodyBytes`, wait in a line of their own. */
const LARGE_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Bodies are held up to three times for a moment: as received for the archive, decoded in pieces,
 * and joined. So these keep an agent under 800 MiB, of which it needs 200 without any body.
 */
const BUDGET: BodyBudgetOptions = {
  // Nine pages under the default limit.
  ordinaryBytesMax: 96 * 1024 * 1024,
  // Two sitemaps of the largest size.
  largeBytesMax: 104 * 1024 * 1024,
};

interface BodyBudgetOptions {
  /** For bodies of up to 16 MiB together. */
  readonly ordinaryBytesMax: number;
  /** For larger ones together. */
  readonly largeBytesMax: number;
}

/** The account of one body. */
export interface BodyAccount {
  /**
   * Reserves memory; to be called once.
   *
   * @returns false where it has to wait; `onGranted` is called when it has not to any more, unless
   * the account is closed before.
   */
  reserve(bytes: number, onGranted: () => void): boolean;
  /** Gives the memory back, and the place in the line; may be called twice. */
  close(): void;
}

export class BodyBudget {
  readonly #ordinary: Line;
  readonly #large: Line;

  constructor({ ordinaryBytesMax, largeBytesMax }: BodyBudgetOptions = BUDGET) {
    this.#ordinary = new Line(ordinaryBytesMax);
    this.#large = new Line(largeBytesMax);
  }

  /** Bytes reserved by bodies that are open. */
  get reserved(): number {
    return this.#ordinary.reserved + this.#large.reserved;
  }

  /** Bodies that wait. */
  get waiting(): number {
    return this.#ordinary.waiting + this.#large.waiting;
  }

  /** Opens the account of a body; to be closed. */
  open(): BodyAccount {
    let close = () => {};
    return {
      reserve: (bytes, onGranted) => {
        const line = bytes > LARGE_BODY_BYTES ? this.#large : this.#ordinary;
        const claim: Claim = { bytes, onGranted };
        close = () => line.leave(claim);
        return line.enter(claim);
      },
      close: () => close(),
    };
  }
}

interface Claim {
  readonly bytes: number;
  readonly onGranted: () => void;
}

/** Bodies in order of arrival. One that exceeds the whole is granted alone. */
class Line {
  readonly #bytesMax: number;
  readonly #granted = new Set<Claim>();
  /** Filled by `enter`, emptied by `leave`, also of others; bound: the open requests. */
  readonly #waiting = new Set<Claim>();
  reserved = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  enter(claim: Claim): boolean {
    const isFirst = this.#waiting.size === 0;
    if (isFirst && this.#fits(claim)) this.#grant(claim);
    else this.#waiting.add(claim);
    return this.#granted.has(claim);
  }

  leave(claim: Claim): void {
    if (this.#granted.delete(claim)) this.reserved -= claim.bytes;
    this.#waiting.delete(claim);
    const granted: Claim[] = [];
    for (const next of this.#waiting) {
      if (!this.#fits(next)) break;
      this.#waiting.delete(next);
      this.#grant(next);
      granted.push(next);
    }
    // The sums are right before anybody acts on them.
    for (const { onGranted } of granted) onGranted();
  }

  #fits({ bytes }: Claim): boolean {
    return this.#granted.size === 0 || this.reserved + bytes <= this.#bytesMax;
  }

  #grant(claim: Claim): void {
    this.#granted.add(claim);
    this.reserved += claim.bytes;
  }
}
