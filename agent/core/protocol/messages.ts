// What agents say to one another: the messages of the cluster protocol, as plain data. The core
// makes and consumes them; `agent/messaging` frames, validates and carries them. Durations, never
// absolute times, cross the wire. Every message travels in an envelope that names the incarnations
// of both ends, so that what was meant for an earlier life of an agent is dropped.

import type { SpelledUrl } from '../../url/crawl-url.ts';

export type AgentId = string;
/** Grows strictly over all lives of an identifier; about the Unix milliseconds of its start. */
export type Incarnation = number;
export type Host = string;

/** What a joiner must know of a member to reach it and to place it on the ring. */
export interface MemberCard {
  readonly id: AgentId;
  readonly inc: Incarnation;
  readonly capacity: number;
  /** ZeroMQ endpoint that peers connect to, such as `tcp://10.0.0.5:7101`. */
  readonly address: string;
}

/** News of a member that the sender does not suspect: the echo that leases count. */
export interface News extends MemberCard {
  readonly counter: number;
  readonly joined: boolean;
  /** Whether the sender hears this member itself, not only by hearsay: the path needs no relay. */
  readonly direct: boolean;
}

/** A URL on its way to the owner of its host. */
export interface UrlItem extends SpelledUrl {
  readonly depth: number;
  /** Identity of the page that it was first found on; absent for a seed. */
  readonly referrer?: string;
  /** Attempts already made by a former owner. */
  readonly attempts?: number;
  /** Named as a sitemap: by a robots.txt, an index or the config. Absent: not known to be one. */
  readonly sitemap?: boolean;
}

/** One host of a YIELD: `waitMs` is what is left of its politeness delay or back-off. */
export interface YieldItem {
  readonly host: Host;
  readonly waitMs: number;
  readonly withdrawn?: boolean;
}

/** How a URL ended: with a response, failed, or deliberately not fetched. */
export type TerminalState = 'response' | 'failed' | 'skipped';

/** The record of a finished page as it travels with its *done* event. */
export interface PageRow {
  readonly status: number | null;
  readonly error: string | null;
  readonly contentType: string | null;
  readonly bytes: number;
  readonly digest: string | null;
  readonly fetchedAt: number;
  readonly durationMs: number;
  readonly redirectTo: string | null;
  /** Where the response is archived: a file of the agent that its name tells, and a byte of it. */
  readonly warcFile?: string;
  readonly warcOffset?: number;
  /** `link rel=canonical`: a key of the same host, or a whole URL. */
  readonly canonical?: string;
  /** What the page, or its X-Robots-Tag, asks of those who index or keep it. */
  readonly noindex?: boolean;
  readonly noarchive?: boolean;
  /** By which the server can be asked whether the page has changed. */
  readonly etag?: string;
  readonly lastModified?: string;
  /** SHA-1 in base 32 of the archived payload; where and when (Unix seconds) it was first archived. */
  readonly payload?: string;
  readonly originalUrl?: string;
  readonly originalAt?: number;
  /** The same as in the round before. */
  readonly unchanged?: boolean;
}

/** The last record of a page that is queued again, or skipped since, kept until it ends anew. */
export interface FormerPage extends PageRow {
  /** In which the page ended so; absent in the first, and where an older version queued it again. */
  readonly round?: number;
  /** Requests that it took in that round; absent where an older version queued it again. */
  readonly attempts?: number;
}

/**
 * Something that became known of a URL, or of the host, under a number of the sender's database that never
 * changes. `key` is the identity without its host (agent/url/url-key.ts).
 */
export type RowEvent =
  | {
      readonly kind: 'found';
      readonly n: number;
      readonly key: string;
      readonly depth: number;
      readonly attempts: number;
      readonly fetchUrl?: string;
      /** In the stored form: a key of the same host, or a whole URL. */
      readonly referrer?: string;
      /** In which it was found; absent in the first. */
      readonly round?: number;
      readonly sitemap?: boolean;
    }
  /** It was known, and is queued again; or what is known of the queued URL has changed. */
  | {
      readonly kind: 'again';
      readonly n: number;
      readonly key: string;
      readonly round: number;
      readonly attempts: number;
      /** The record of its page; what the server is asked by is absent where it was not settled. */
      readonly former?: FormerPage;
      readonly sitemap?: boolean;
      /** Redirects to other forms of its identity in this round; absent: none. */
      readonly hops?: number;
      /** The form that they led to; absent: the identity's own, or there were none. */
      readonly fetchUrl?: string;
    }
  | {
      readonly kind: 'done';
      readonly n: number;
      readonly key: string;
      readonly state: TerminalState;
      readonly attempts: number;
      /** In which it ended so; absent in the first. */
      readonly round?: number;
      /** Why it was skipped. */
      readonly reason?: string;
      readonly page?: PageRow;
    }
  /** What an origin of the host answered to the request for its robots.txt, or how far that is. */
  | {
      readonly kind: 'robots';
      readonly n: number;
      readonly origin: string;
      readonly answer: 'rules' | 'allowAll' | 'unreachable' | 'redirected';
      /** When the message arrives, at the most. */
      readonly ageMs: number;
      readonly reason: string;
      /** Of rules: base64 of the file. */
      readonly body?: string;
      /** Of `redirected`: the URL to request next, and the redirects up to it. */
      readonly location?: string;
      readonly hops?: number;
      /** Failed attempts in a row; absent: none. */
      readonly attempts?: number;
      /** Since the first of them. */
      readonly failingMs?: number;
      /** Of `unreachable`: the time until the next attempt. */
      readonly waitMs?: number;
      /** Of the last rules read; absent: none. */
      readonly crawlDelayMs?: number;
    };

/** Failures of a host in a row, by which its next owner knows when to give it up. */
export interface HostFailures {
  /** Since its first 429 or 503, where it has answered nothing else since; else 0. */
  readonly busyMs: number;
  /** Such answers since then. */
  readonly blocks: number;
  /** Waits because it could not be reached or did not answer. */
  readonly unconnected: number;
  /** Requests that reached it and got no answer. */
  readonly unanswered: number;
}

/** Rows of one host: all events of the sender's table numbered above `from`, up to `to`. */
export interface RowsItem {
  readonly host: Host;
  readonly from: number;
  readonly to: number;
  readonly events: readonly RowEvent[];
  /** The sender's counter: of two owners' words on back-off the later one counts. */
  readonly version: number;
  readonly backoffMs: number;
  /** From the end of one request to the start of the next; 0 where none was made. */
  readonly delayMs: number;
  /** Steps of back-off taken because the host was busy, and its stale pages; absent where none. */
  readonly busy?: number;
  readonly stale?: number;
  /** Absent: its last answer was a good one. */
  readonly failures?: HostFailures;
}

/**
 * A word of the operator that holds for the whole cluster until a later one on the same. `value` is
 * null where it is taken back: `pause` (host ''), `block`: 1; `delay`: milliseconds; `refresh` (host
 * ''): the round, which is its number too, so that the highest round wins.
 */
export interface Order {
  readonly kind: 'pause' | 'block' | 'delay' | 'refresh';
  /** A pattern as in `scope.hosts`. */
  readonly host: string;
  readonly value: number | null;
  /** Higher than that of any order its giver knew. */
  readonly n: number;
  readonly by: AgentId;
}

export type Message =
  | {
      readonly type: 'HELLO';
      readonly capacity: number;
      readonly address: string;
      /** Canonical JSON of all settings that must agree (see `config/fingerprint.ts`). */
      readonly fingerprint: string;
      /** The counter of the sender's database, by which a roll-back is noticed. */
      readonly n: number;
      /** Comes back in the answer, and shows that it is one; absent: no answer is wanted. */
      readonly greeting?: string;
      /** Of a PROBE that this answers: the sender is reached at its address. */
      readonly proof?: string;
    }
  | {
      /** To where an agent is said to listen; it answers with a HELLO, if it is that incarnation. */
      readonly type: 'PROBE';
      readonly nonce: string;
      /** The answer tells the settings, which is for those who have them. */
      readonly fingerprintHash: string;
      /** The sender's. */
      readonly address: string;
    }
  | {
      readonly type: 'WELCOME';
      /** Of the HELLO that this answers. */
      readonly greeting: string;
      readonly members: readonly News[];
      readonly gone: readonly { id: AgentId; inc: Incarnation; ageMs: number }[];
      /** Obeyed before the first request. */
      readonly orders: readonly Order[];
    }
  | {
      readonly type: 'REFUSED';
      /** Of the HELLO that this answers. */
      readonly greeting?: string;
      readonly path: string;
      readonly yours: string;
      readonly theirs: string;
      /** Whether the refuser has joined: a joiner obeys only such, or a smaller identifier. */
      readonly joined: boolean;
    }
  | {
      readonly type: 'HEARTBEAT';
      readonly counter: number;
      readonly joined: boolean;
      readonly capacity: number;
      readonly address: string;
      /** Short digest of the fingerprint: heartbeats of a differing crawl are not news. */
      readonly fingerprintHash: string;
      readonly news: readonly News[];
      /** There is news of others, too, which came before or will come; absent: this is all. */
      readonly more?: boolean;
      readonly gone: readonly { id: AgentId; inc: Incarnation }[];
      readonly suspects: readonly { id: AgentId; inc: Incarnation }[];
      readonly idle: boolean;
      readonly idleSince: number;
      readonly viewHash: string;
      /** Generation of the sender's copies, as in ROWS_ACK. */
      readonly gen: number;
      /** Digest of the operator's orders that the sender knows. */
      readonly orders: string;
    }
  | {
      readonly type: 'LIST';
      readonly list: number;
      /** 0-based number of this part; parts are sent one at a time. */
      readonly part: number;
      readonly hosts: readonly Host[];
      readonly last: boolean;
      /**
       * The sender leaves, and those are the members that had no place in its order when it began
       * the list, itself among them; empty: it does not leave, or the list is not of all it has.
       */
      readonly leavers: readonly AgentId[];
      /** How long addresses may rest or be in use that the sender granted or uses; absent: none. */
      readonly slotsMs?: number;
    }
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
      /** Indices into the batch of URLs whose host the receiver does not own. */
      readonly notMine: readonly number[];
    }
  | {
      /** Of URLs that the sender owns and has acknowledged at depth 0: they need not be sent to it. */
      readonly type: 'KNOWN';
      /** Of the hashes: a whole number below 2^53 that the sender's process drew for itself. */
      readonly key: number;
      /** Base64 of eight bytes for each (`core/exchange/known-urls.ts`). */
      readonly urls: string;
    }
  | {
      readonly type: 'ROWS';
      /** Of this message among those of the sender's incarnation; the acknowledgement names it. */
      readonly number: number;
      readonly items: readonly RowsItem[];
    }
  | {
      readonly type: 'ROWS_ACK';
      readonly number: number;
      /** Generation of the copies at the receiver: grows when one is deleted. */
      readonly gen: number;
      readonly items: readonly { host: Host; mark: number }[];
    }
  | { readonly type: 'BATCH_REFUSED'; readonly batch: number; readonly reason: string }
  | { readonly type: 'LEAVE' }
  | { readonly type: 'ORDERS'; readonly orders: readonly Order[] }
  | {
      readonly type: 'COMPLETE';
      /** Of the last HELLO of the agent that is told; absent: it has said none. */
      readonly greeting?: string;
    }
  | {
      /** To the owner of an address: the sender is ready to ask it, or still does. */
      readonly type: 'SLOT_ASK';
      readonly address: string;
      /** Of this request among those of the sender's process. */
      readonly slot: number;
      /** Of this message; the grant names the one that it counts from. */
      readonly ask: number;
    }
  | {
      readonly type: 'SLOT_GRANT';
      readonly address: string;
      readonly slot: number;
      readonly ask: number;
      /** From the sending of the ask. */
      readonly forMs: number;
    }
  | {
      readonly type: 'SLOT_END';
      readonly address: string;
      readonly slot: number;
      /** Since the end of the request. */
      readonly agoMs: number;
    }
  | {
      /** To the owner of the page limit; all numbers are counted since the session began. */
      readonly type: 'PAGES_ASK';
      readonly session: number;
      readonly wanted: number;
      readonly granted: number;
      readonly returned: number;
    }
  | {
      readonly type: 'PAGES_GRANT';
      readonly session: number;
      readonly granted: number;
      readonly returned: number;
      /** The limit is reached. */
      readonly over: boolean;
      /** Of the session nothing is known: another has to be begun. */
      readonly restart: boolean;
    }
  | { readonly type: 'COUNT'; readonly round: number }
  | {
      readonly type: 'COUNTED';
      readonly round: number;
      readonly inc: Incarnation;
      readonly viewHash: string;
      /** No host is on its way from or to the sender. */
      readonly quiet: boolean;
      /** Of its hosts: ended with a response, or failed. */
      readonly pages: number;
      /** Tokens that may become pages yet. */
      readonly held: number;
      readonly session: number;
      readonly granted: number;
      readonly returned: number;
    }
  | {
      /** To the owner of `origin`: what does its robots.txt say? That of `asker` leads there. */
      readonly type: 'ROBOTS_ASK';
      /** Scheme, host and port. */
      readonly origin: string;
      readonly asker: string;
      /** Since the sender first asked. */
      readonly waitedMs: number;
    }
  | {
      readonly type: 'ROBOTS_TOLD';
      readonly origin: string;
      readonly asker: string;
      /**
       * `absent`: there are no rules. `unreachable`: for good, as far as it was tried. `redirect`: it
       * leads to `to` in turn. `refused`: it will not be asked for. `waiting`: not now, its host waits
       * for another itself.
       */
      readonly answer: 'rules' | 'absent' | 'unreachable' | 'redirect' | 'refused' | 'waiting';
      readonly reason: string;
      /** Of rules: base64 of the file. */
      readonly body: string | null;
      /** Of a redirect: the origin whose robots.txt it leads to, after so many hops (else 0). */
      readonly to: string | null;
      readonly hops: number;
    }
  | {
      readonly type: 'RELAY';
      readonly origin: AgentId;
      readonly to: AgentId;
      /** Encoded by the origin; the relay passes it on as it is, one hop. */
      readonly envelope: Envelope;
    }
  | {
      readonly type: 'CONTROL';
      readonly request: number;
      readonly verb: ControlVerb;
      readonly args: readonly string[];
      /** The name of the crawl that a command-line tool means; absent where a member forwards it. */
      readonly crawl?: string;
    }
  | {
      readonly type: 'CONTROL_ACK';
      readonly request: number;
      readonly ok: boolean;
      readonly result: unknown;
    };

export type MessageType = Message['type'];
/** `order` is what the agent that was asked makes of the operator's words for the others. */
export type ControlVerb =
  | 'status'
  | 'leave'
  | 'stop'
  | 'pause'
  | 'resume'
  | 'block'
  | 'delay'
  | 'order'
  | 'seed'
  | 'explain';

/** `to.inc` is 0 where the sender cannot know it: HELLO, HEARTBEAT and REFUSED are read anyway. */
export interface Envelope {
  readonly from: { readonly id: AgentId; readonly inc: Incarnation };
  readonly to: { readonly id: AgentId; readonly inc: Incarnation };
  readonly message: Message;
}
