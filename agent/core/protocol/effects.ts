// The side effects that the core requests. The core performs no I/O: each turn leaves a list of
// effects, and the runtime (or the simulator) performs them in order after the commit. A durable
// effect waits until the commit is on disk, because it reports that something is safe here.

import type { AgentId, Envelope, Host, KnownUrl } from './messages.ts';

/** One HTTP request for a known URL, or for a robots.txt, whose `url` is the URL itself. */
export interface PageRequest extends KnownUrl {
  /** Unique within the process. */
  readonly id: number;
  readonly kind: 'page' | 'robots';
  /** The page is done; it is requested only to test whether its host still responds. */
  readonly isTest?: true;
  /** The only address that may be connected to; null: none. Absent: any. */
  readonly address?: string | null;
}

export interface Peer {
  readonly id: AgentId;
  readonly address: string;
}

export type EndCode = 0 | 1 | 3 | 4 | 5 | 11;

export interface End {
  readonly code: EndCode;
  readonly reason: string;
  /** The agent left the cluster; otherwise code 0 means that the crawl is complete. */
  readonly left?: true;
  /** The members at the end of the crawl. */
  readonly members?: readonly AgentId[];
}

export type Effect =
  | {
      readonly type: 'send';
      readonly to: Peer;
      readonly envelope: Envelope;
      readonly lane: 'control' | 'bulk';
      readonly durable: boolean;
      /** Only the peer itself claims this address: it gets no permanent link. */
      readonly brief?: true;
    }
  | { readonly type: 'forget-peer'; readonly id: AgentId }
  | { readonly type: 'request'; readonly request: PageRequest }
  /** Looks up the address for a host's next request (`Core.onResolved`). */
  | { readonly type: 'resolve'; readonly host: Host; readonly current: string | null }
  | { readonly type: 'abort'; readonly request: number }
  /** Sends the result of a command to the operator. */
  | { readonly type: 'tell'; readonly tell: () => void; readonly durable: true }
  | { readonly type: 'woke' }
  /** Tells the operator what needs attention, or what happened; completes *this agent ...* */
  | { readonly type: 'warn' | 'note'; readonly message: string }
  | ({ readonly type: 'end' } & End);

/** Collects the effects of one turn. */
export class Effects {
  #list: Effect[] = [];

  push(effect: Effect): void {
    this.#list.push(effect);
  }

  take(): Effect[] {
    const list = this.#list;
    this.#list = [];
    return list;
  }
}
