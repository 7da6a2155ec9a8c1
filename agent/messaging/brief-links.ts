// Short-lived links to unconfirmed addresses: a HELLO from an unknown agent must be answered at the
// address that it names. The number and lifetime of these links are limited, and they never replace
// the link to a confirmed peer.

import type { MessageType } from '../core/protocol/messages.ts';
import { PeerLink } from './peer-link.ts';
import type { Lane } from './send-lanes.ts';
import type { Traffic } from './traffic.ts';

/** Limits sockets to unconfirmed addresses. An agent that gets no answer sends HELLO again. */
const BRIEF_LINKS_MAX = 32;
/** Default lifetime of a link in ms: enough for two attempts to connect and one response. */
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

  /** Returns whether the frame was queued; false: too many links, or the address is invalid. */
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

  /** Resolves when all links are drained. */
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
