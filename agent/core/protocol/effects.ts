// The side effects that the core requests. The core performs no I/O: each turn leaves a list of
// effects, and the runtime (or the simulator) performs them in order after the commit. A durable
// effect waits until the commit is on disk, because it reports that something is safe here.

import type { Identity, RequestForm } from '../../url/crawl-url.ts';
import type { AgentId, Envelope, Host, PageRow } from './messages.ts';

/** One HTTP request. `id` is unique within the process. */
export interface PageRequest {
  readonly id: number;
  readonly kind: 'page' | 'robots';
  readonly host: Host;
  /** Identity of the URL; for robots.txt the URL itself. */
  readonly url: Identity;
  /** The form of the URL to request. */
  readonly fetchUrl: RequestForm;
  readonly depth: number;
  readonly attempts: number;
  /** End of the first of those attempts; absent: none, or unknown here. */
  readonly failedSince?: number;
  /** Redirects between forms of the identity that led to `fetchUrl`; absent: none. */
  readonly hops?: number;
  /** The page on which the URL was first found; absent for seeds. */
  readonly referrer?: string;
  /** See UrlItem. */
  readonly sitemap?: boolean;
  /** The page is done; it is requested only to test whether its host still responds. */
  readonly isTest?: true;
  /** The page of the previous round, for a conditional request; absent: fetch the whole page. */
  readonly former?: PageRow;
  /** The only address that may be connected to; null: none. Absent: any. */
  readonly address?: string | null;
}

export interface Peer {
  readonly id: AgentId;
  readonly address: string;
}

export type EndCode = 0 | 1 | 3 | 4 | 5 | 11;

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
  | { readonly type: 'end'; readonly code: EndCode; readonly reason: string };

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
