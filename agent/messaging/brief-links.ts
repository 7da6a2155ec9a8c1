// Links to addresses that nothing but their own word speaks for: a stranger's HELLO has to be
// answered where it says that it listens. Such a link carries the answer and is closed soon, there are
// few of them, and they never take the place of the link to a peer that is believed.

import type { MessageType } from '../core/protocol/messages.ts';
import { PeerLink } from './peer-link.ts';
import type { Lane } from './send-lanes.ts';
import type { Traffic } from './traffic.ts';

/** Strangers that are answered at a time; the others ask again. */
const BRIEF_LINKS_MAX = 32;
/** Time to connect, twice, and to be read. */
export const BRIEF_MS = 5000;

export class BriefLinks {
  readonly #traffic: Traffic;
  readonly #briefMs: number;
  /** By address. Filled by `to`; each entry is removed after `#briefMs`. */
  readonly #links = new Map<string, { readonly link: PeerLink; readonly timer: NodeJS.Timeout }>();

  constructor(traffic: Traffic, briefMs: number) {
    this.#traffic = traffic;
    this.#briefMs = briefMs;
  }

  /** Gives whether the frame was queued: not where there are too many links, or the address is bad. */
  send(address: string, lane: Lane, type: MessageType, frame: Uint8Array): boolean {
    const known = this.#links.get(address);
    if (known) {
      known.link.offer(lane, type, frame);
      return true;
    }
    if (this.#links.size >= BRIEF_LINKS_MAX) return false;
    const link = new PeerLink(address, this.#traffic, this.#briefMs);
    if (!link.connect()) return false;
    const timer = setTimeout(() => this.#end(address), this.#briefMs).unref();
    this.#links.set(address, { link, timer });
    link.offer(lane, type, frame);
    return true;
  }

  #end(address: string): void {
    this.#links.get(address)?.link.close();
    this.#links.delete(address);
  }

  /** Of all frames that wait. */
  async drained(): Promise<void> {
    await Promise.all(Array.from(this.#links.values(), ({ link }) => link.drained()));
  }

  close(lingerMs: number): void {
    for (const { link, timer } of this.#links.values()) {
      clearTimeout(timer);
      link.close(lingerMs);
    }
    this.#links.clear();
  }
}
