// The messages of the cluster protocol, as plain data. `agent/messaging` frames, validates and
// sends them. Messages contain durations, not times of the monotonic clock. The envelope names the
// incarnations of both ends, so a message to an earlier incarnation is dropped.

import type { Identity, RequestForm, SpelledUrl } from '../../url/crawl-url.ts';
import type { Covered, OverlayMessage, PagesState } from './overlay-messages.ts';

export type { Covered };
export type AgentId = string;
/** Grows with each start and rebirth of an agent; about the Unix milliseconds of its start. */
export type Incarnation = number;
export type Host = string;

/** What an agent needs to reach a member and to place it on the ring. */
export interface MemberCard {
  readonly id: AgentId;
  readonly inc: Incarnation;
  readonly capacity: number;
  /** ZeroMQ endpoint that peers connect to, such as `tcp://10.0.0.5:7101`. */
  readonly address: string;
}

/** News of a member that the sender does not suspect: the echo on which leases depend. */
export interface News extends MemberCard {
  readonly counter: number;
  readonly joined: boolean;
  /** Whether the member's heartbeats reach the sender directly, without a relay. */
  readonly direct: boolean;
}

/**
 * A URL that the crawl knows. `FoundLink`, `UrlItem`, `QueuedUrl` and `PageRequest` are views of it:
 * as a page links to it, on its way to the owner of its host, in the queue, and as it is requested.
 */
export interface KnownUrl {
  readonly url: Identity;
  /** The form to request. */
  readonly fetchUrl: RequestForm;
  readonly host: Host;
  /** Number of links from a seed. Redirects do not count. */
  readonly depth: number;
  /** Identity of the page on which it was first found; absent for a seed. */
  readonly referrer?: string;
  /** A robots.txt, a sitemap index or the config names the URL as a sitemap. */
  readonly sitemap?: boolean;
  /** Requests that failed, in this round. */
  readonly attempts: number;
  /** End of the first of those attempts; absent: none, or unknown here. */
  readonly failedSince?: number;
  /** Redirects between forms of the identity that led to `fetchUrl`; absent: none. */
  readonly hops?: number;
  /** The page of the previous round, for a conditional request; absent: fetch the whole page. */
  readonly previous?: PageRow;
}

/** A known URL on its way to the owner of its host. */
export interface UrlItem extends SpelledUrl, Pick<KnownUrl, 'depth' | 'referrer' | 'sitemap'> {
  /** Attempts of the previous owner. */
  readonly attempts?: number;
}

/** One host of a YIELD: `waitMs` is the rest of its politeness delay or back-off. */
export interface YieldItem {
  readonly host: Host;
  readonly waitMs: number;
  readonly withdrawn?: boolean;
}

/** The final state of a URL: a response, a failure, or not fetched on purpose. */
export type TerminalState = 'response' | 'failed' | 'skipped';

/** The record of a done page, as its *done* event carries it. */
export interface PageRow {
  readonly status: number | null;
  readonly error: string | null;
  readonly contentType: string | null;
  readonly bytes: number;
  readonly digest: string | null;
  readonly fetchedAt: number;
  readonly durationMs: number;
  readonly redirectTo: string | null;
  /** Where the response is archived: the file, whose name contains its agent, and the offset. */
  readonly warcFile?: string;
  readonly warcOffset?: number;
  /** `link rel=canonical`: a key of the same host, or a whole URL. */
  readonly canonical?: string;
  /** Directives of the page or its X-Robots-Tag. */
  readonly noindex?: boolean;
  readonly noarchive?: boolean;
  /** Validators for conditional requests. */
  readonly etag?: string;
  readonly lastModified?: string;
  /** SHA-1 of the archived payload in base 32. The record leads to the one that has it. */
  readonly payload?: string;
  /** Where and when (Unix seconds) earlier builds archived the payload; unused. */
  readonly originalUrl?: string;
  readonly originalAt?: number;
  /** The same as in the previous round. */
  readonly unchanged?: boolean;
}

/** The last record of a page that was requeued, or skipped since; kept until it is done again. */
export interface PreviousPage extends PageRow {
  /** The round of the record; absent: the first, or an older version requeued the page. */
  readonly round?: number;
  /** Requests in that round; absent: an older version requeued the page. */
  readonly attempts?: number;
}

/**
 * A change of a URL or of the host. Its number `n` in the sender's database never changes. `key` is
 * the identity without its host (agent/url/url-key.ts).
 */
export type RowEvent =
  | {
      readonly kind: 'found';
      readonly n: number;
      readonly key: string;
      readonly depth: number;
      readonly attempts: number;
      readonly fetchUrl?: string;
      /** A key of the same host, or a whole URL. */
      readonly referrer?: string;
      /** The round in which it was found; absent: the first. */
      readonly round?: number;
      readonly sitemap?: boolean;
    }
  /** A known URL was requeued, or the state of the requeued URL has changed. */
  | {
      readonly kind: 'again';
      readonly n: number;
      readonly key: string;
      readonly round: number;
      readonly attempts: number;
      readonly depth?: number;
      /** The previous record of its page, without validators if the page was not settled. */
      readonly former?: PreviousPage;
      readonly sitemap?: boolean;
      /** Redirects between forms of its identity in this round; absent: none. */
      readonly hops?: number;
      /** The form to which they led; absent: the identity's own form. */
      readonly fetchUrl?: string;
    }
  | {
      readonly kind: 'done';
      readonly n: number;
      readonly key: string;
      readonly state: TerminalState;
      readonly attempts: number;
      /** The round in which it was done; absent: the first. */
      readonly round?: number;
      /** A SkipReason, for a skipped URL. */
      readonly reason?: string;
      readonly page?: PageRow;
    }
  /** The result for the robots.txt of an origin of the host, or the progress of fetching it. */
  | {
      readonly kind: 'robots';
      readonly n: number;
      readonly origin: string;
      readonly answer: 'rules' | 'allowAll' | 'unreachable' | 'redirected';
      /** The maximum age when the message arrives. */
      readonly ageMs: number;
      readonly reason: string;
      /** For `rules`: the file in base64. */
      readonly body?: string;
      /** For `redirected`: the URL to request next, and the number of redirects up to it. */
      readonly location?: string;
      readonly hops?: number;
      /** Failed attempts in a row; absent: none. */
      readonly attempts?: number;
      /** Time since the first of them. */
      readonly failingMs?: number;
      /** For `unreachable`: the time until the next attempt. */
      readonly waitMs?: number;
      /** The delay in the last rules; absent: none. */
      readonly crawlDelayMs?: number;
    };

/** Consecutive failures of a host. The next owner needs them to know when to abandon the host. */
export interface HostFailures {
  /** Time since the first of an unbroken series of responses 429 or 503, else 0. */
  readonly busyMs: number;
  /** Number of responses in that series. */
  readonly blocks: number;
  /** Waits because the host could not be reached or did not respond. */
  readonly unconnected: number;
  /** Requests that reached the host and got no response. */
  readonly unanswered: number;
}

/** Rows of one host: all events of the sender numbered above `from`, up to `to`. */
export interface RowsItem {
  readonly host: Host;
  readonly from: number;
  readonly to: number;
  readonly events: readonly RowEvent[];
  /** The sender's counter: the back-off with the higher version is the later one. */
  readonly version: number;
  readonly backoffMs: number;
  /** From the end of one request to the start of the next; 0 if there was no request. */
  readonly delayMs: number;
  /** Back-off steps because the host was busy; absent: none. */
  readonly busy?: number;
  /** Duplicate score of the host's pages; absent: 0. */
  readonly stale?: number;
  /** Absent: its last request did not fail. */
  readonly failures?: HostFailures;
}

/**
 * A directive of the operator for the whole cluster. It holds until a later one with the same kind
 * and host. `value` is null if it is revoked, else: `pause` (host '') and `block`: 1; `delay`:
 * milliseconds; `refresh` (host ''): the round, which is also its number: the highest wins;
 * `drain`: 1; `threads` and `capacity`: of the agent.
 */
export interface Directive {
  readonly kind: 'pause' | 'block' | 'delay' | 'refresh' | 'drain' | 'capacity' | 'threads';
  /** A pattern as in `scope.hosts`, or an agent; of `threads` also `*` for all. */
  readonly host: string;
  readonly value: number | null;
  /** Higher than the number of any directive that its issuer knew. */
  readonly n: number;
  /** The issuer. */
  readonly by: AgentId;
}

export type Message =
  | {
      readonly type: 'HELLO';
      readonly capacity: number;
      readonly address: string;
      /** Canonical JSON of all settings that must agree (see `config/fingerprint.ts`). */
      readonly fingerprint: string;
      /** The counter of the sender's database: a lower one than before shows an old database. */
      readonly n: number;
      /** The answer repeats it, as proof that it is an answer; absent: no answer is expected. */
      readonly greeting?: string;
      /** The nonce of the PROBE that this answers: proves the address of the sender. */
      readonly proof?: string;
    }
  | {
      /** Sent to the claimed address of an incarnation, which answers with a HELLO. */
      readonly type: 'PROBE';
      readonly nonce: string;
      /** The answer contains the settings, so only agents with the same settings may ask. */
      readonly fingerprintHash: string;
      /** The address of the sender. */
      readonly address: string;
    }
  | {
      readonly type: 'WELCOME';
      /** The greeting of the HELLO that this answers. */
      readonly greeting: string;
      readonly members: readonly News[];
      readonly gone: readonly { id: AgentId; inc: Incarnation; ageMs: number }[];
      readonly orders: readonly Directive[];
    }
  | {
      readonly type: 'REFUSED';
      /** The greeting of the HELLO that this answers. */
      readonly greeting?: string;
      /** The setting that differs, or the reason if `theirs` is empty. */
      readonly path: string;
      readonly yours: string;
      readonly theirs: string;
      /** Whether the sender has joined (PROTOCOL rule 5). */
      readonly joined: boolean;
      /** The HELLO is to be repeated until the sender has room for another member. */
      readonly later?: boolean;
    }
  | {
      readonly type: 'HEARTBEAT';
      readonly counter: number;
      readonly joined: boolean;
      readonly capacity: number;
      readonly address: string;
      /** Digest of the fingerprint: heartbeats of another crawl are ignored. */
      readonly fingerprintHash: string;
      readonly news: readonly News[];
      /** Other heartbeats have the news of the other members; absent: `news` is complete. */
      readonly more?: boolean;
      readonly gone: readonly { id: AgentId; inc: Incarnation }[];
      readonly suspects: readonly { id: AgentId; inc: Incarnation }[];
      readonly idle: boolean;
      readonly idleSince: number;
      readonly viewHash: string;
      /** Generation of the sender's copies, as in ROWS_ACK. */
      readonly gen: number;
      /** Digest of the operator's directives that the sender knows. */
      readonly orders: string;
      /** Lengths of the regions that the sender watches, by identifier; absent: the view is full. */
      readonly regions?: readonly number[];
      /** Lengths of the regions that it knows completely; absent: those that it watches. */
      readonly complete?: readonly number[];
      /** Whether the sender must know the receiver; absent: the view is full. */
      readonly needs?: boolean;
      /** Absent: the view is full, or there is no page limit. */
      readonly pages?: PagesState;
    }
  | OverlayMessage
  | {
      readonly type: 'LIST';
      readonly list: number;
      /** 0-based number of this part; parts are sent one at a time. */
      readonly part: number;
      readonly hosts: readonly Host[];
      readonly last: boolean;
      /**
       * Set if the sender leaves and lists all hosts of which it has rows: the agents that were
       * leaving when it began the list, including itself. Else empty.
       */
      readonly leavers: readonly AgentId[];
      /**
       * How long addresses that the sender uses, or for which it granted permits, may be in use or
       * cooling down; absent: there are none.
       */
      readonly slotsMs?: number;
    }
  /** The receiver owes the sender a list that takes these leavers into account; see OwedLists. */
  | { readonly type: 'LIST_ASK'; readonly leavers: readonly AgentId[] }
  | { readonly type: 'LIST_ACK'; readonly list: number; readonly part: number }
  | { readonly type: 'YIELD'; readonly list: number; readonly items: readonly YieldItem[] }
  | {
      readonly type: 'YIELD_ACK';
      readonly list: number;
      readonly items: readonly { host: Host; keep: boolean }[];
    }
  | { readonly type: 'URLS'; readonly batch: number; readonly urls: readonly UrlItem[] }
  | {
      readonly type: 'URLS_ACK';
      readonly batch: number;
      /** Indices of URLs in the batch whose host the receiver does not own. */
      readonly notMine: readonly number[];
    }
  | {
      /** URLs that the sender owns and has acknowledged at depth 0: they need not be sent to it. */
      readonly type: 'KNOWN';
      /** Key of the hashes: a random integer below 2^53, one for each process. */
      readonly key: number;
      /** Base64 of eight bytes for each URL (`core/exchange/known-urls.ts`). */
      readonly urls: string;
    }
  | {
      readonly type: 'ROWS';
      /** Numbers the ROWS of the sender's incarnation; ROWS_ACK repeats it. */
      readonly number: number;
      readonly items: readonly RowsItem[];
    }
  | {
      readonly type: 'ROWS_ACK';
      readonly number: number;
      /** Generation of the copies at the sender of this message. */
      readonly gen: number;
      readonly items: readonly { host: Host; mark: number }[];
    }
  | { readonly type: 'BATCH_REFUSED'; readonly batch: number; readonly reason: string }
  | { readonly type: 'LEAVE' }
  | { readonly type: 'ORDERS'; readonly orders: readonly Directive[] }
  | {
      readonly type: 'COMPLETE';
      /** The greeting of the receiver's last HELLO; absent: it sent none. */
      readonly greeting?: string;
      /** In a partial view: of the receiver. */
      readonly covers?: Covered;
      /** Under `majority`: the members at the end, and the digest of the sender's directives. */
      readonly members?: readonly AgentId[];
      readonly orders?: string;
    }
  | {
      /** To the owner of an IP address: asks for its permit, or to renew it. */
      readonly type: 'SLOT_ASK';
      readonly address: string;
      /** Numbers the permit requests of the sender's process. */
      readonly slot: number;
      /** Numbers this message; SLOT_GRANT repeats it. */
      readonly ask: number;
    }
  | {
      readonly type: 'SLOT_GRANT';
      readonly address: string;
      readonly slot: number;
      readonly ask: number;
      /** Counted from when the SLOT_ASK was sent; 0: the sender does not own the address. */
      readonly forMs: number;
    }
  | {
      readonly type: 'SLOT_END';
      readonly address: string;
      readonly slot: number;
      /** Time since the end of the HTTP request. */
      readonly agoMs: number;
    }
  | {
      /** To the agent that grants tokens; all counts start with the epoch. */
      readonly type: 'PAGES_ASK';
      readonly epoch: string;
      readonly wanted: number;
      readonly granted: number;
      readonly returned: number;
    }
  | {
      readonly type: 'PAGES_GRANT';
      /** Empty: the sender does not grant. */
      readonly epoch: string;
      readonly granted: number;
      readonly returned: number;
      /** The limit is reached. */
      readonly over: boolean;
    }
  /** Begins an epoch, in which the members are counted in rounds. */
  | { readonly type: 'COUNT'; readonly epoch: string; readonly round: number }
  | {
      readonly type: 'COUNTED';
      readonly epoch: string;
      readonly round: number;
      readonly viewHash: string;
      /** No host is being handed over from or to the sender. */
      readonly quiet: boolean;
      /** Pages of its hosts that are done or failed. */
      readonly pages: number;
      /** `pages`, and the sender's tokens that were not granted in the epoch. */
      readonly base: number;
    }
  | {
      /** Asks the owner of `origin` for its robots.txt, to which that of `asker` redirects. */
      readonly type: 'ROBOTS_ASK';
      /** Scheme, host and port. */
      readonly origin: string;
      readonly asker: string;
      /** Time since the sender first asked. */
      readonly waitedMs: number;
    }
  | {
      readonly type: 'ROBOTS_TOLD';
      readonly origin: string;
      readonly asker: string;
      /**
       * - `absent`: there are no rules.
       * - `unreachable`: all attempts failed.
       * - `redirect`: the file redirects to that of `to`.
       * - `refused`: the file will not be requested.
       * - `waiting`: the host itself waits for the robots.txt of another.
       */
      readonly answer: 'rules' | 'absent' | 'unreachable' | 'redirect' | 'refused' | 'waiting';
      readonly reason: string;
      /** For `rules`: the file in base64. */
      readonly body: string | null;
      /** For `redirect`: the origin whose robots.txt it leads to. */
      readonly to: string | null;
      /** For `redirect`: the number of redirects, else 0. */
      readonly hops: number;
    }
  | {
      readonly type: 'RELAY';
      readonly origin: AgentId;
      readonly to: AgentId;
      /** How to answer the origin, if the destination is not a member of it. */
      readonly sender?: { readonly capacity: number; readonly address: string };
      /** The relay forwards it unchanged, once. */
      readonly envelope: Envelope;
    }
  | {
      readonly type: 'CONTROL';
      readonly request: number;
      readonly verb: ControlVerb;
      readonly args: readonly string[];
      /** The name of the crawl in the operator's config; absent if an agent forwards the command. */
      readonly crawl?: string;
      /** From a tool: the agents to forward it to, in place of the members (`control.ts`). */
      readonly to?: readonly MemberCard[];
      /** The forwarding agent, which need not be a member of the receiver: how to answer it. */
      readonly sender?: { readonly address: string; readonly fingerprintHash: string };
    }
  | {
      readonly type: 'CONTROL_ACK';
      readonly request: number;
      readonly ok: boolean;
      readonly result: unknown;
    };

export type MessageType = Message['type'];
/** `order` carries a directive from the agent that received the command to the other agents. */
export type ControlVerb =
  | Exclude<Directive['kind'], 'refresh'>
  | 'status'
  | 'leave'
  | 'stop'
  | 'resume'
  | 'undrain'
  | 'order'
  | 'seed'
  | 'explain';

/** `to.inc` is 0 if the sender does not know it, which HELLO, HEARTBEAT and REFUSED allow. */
export interface Envelope {
  readonly from: { readonly id: AgentId; readonly inc: Incarnation };
  readonly to: { readonly id: AgentId; readonly inc: Incarnation };
  readonly message: Message;
}
