// What the core asks the outside to do. The core performs nothing itself: each of its doors leaves
// effects behind, and the runtime (or the simulator) carries them out in order after the turn's
// commit. An effect marked durable waits for the next commit that has reached the disk, because
// it tells somebody that something is safe here.

import type { Identity, RequestForm } from '../../url/crawl-url.ts';
import type { AgentId, Envelope, Host, PageRow } from './messages.ts';

/** One HTTP request that the visits want made. `id` is unique within the process. */
export interface PageRequest {
  readonly id: number;
  readonly kind: 'page' | 'robots';
  readonly host: Host;
  /** Identity of the URL; for robots.txt the URL itself. */
  readonly url: Identity;
  /** The form to put on the wire. */
  readonly fetchUrl: RequestForm;
  readonly depth: number;
  readonly attempts: number;
  /** End of the first of those attempts; absent: there was none, or it is not known here. */
  readonly failedSince?: number;
  /** Redirects to another form of the same identity that led to this form; absent: none. */
  readonly hops?: number;
  /** Where the URL was found first; absent for seeds. */
  readonly referrer?: string;
  /** Named as a sitemap (UrlItem). */
  readonly sitemap?: boolean;
  /** The page has ended; that it is given again shows that its host is not at fault. */
  readonly isTest?: true;
  /** The page as it was in the round before; absent where it is to be read whole. */
  readonly former?: PageRow;
  /** The only one that may be connected to; null: none. Absent: any. */
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
      /** The address is only its own word: no lasting link is made for it. */
      readonly brief?: true;
    }
  | { readonly type: 'forget-peer'; readonly id: AgentId }
  | { readonly type: 'request'; readonly request: PageRequest }
  /** Asks for the address of a host's next request (`Core.onResolved`). */
  | { readonly type: 'resolve'; readonly host: Host; readonly current: string | null }
  | { readonly type: 'abort'; readonly request: number }
  /** Answers the operator, once what the turn did is on disk. */
  | { readonly type: 'tell'; readonly tell: () => void; readonly durable: true }
  | { readonly type: 'woke' }
  | { readonly type: 'end'; readonly code: EndCode; readonly reason: string };

/** Collects the effects of one turn; the runtime takes them when the turn is over. */
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
