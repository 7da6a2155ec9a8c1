// The outcome of a request, after fetching and parsing. The visits need it for politeness, retries
// and the page record, the core for the links. Times are on the monotonic clock of the process.

import type { RequestForm, SpelledUrl } from '../../url/crawl-url.ts';
import type { PageRequest } from './effects.ts';
import type { Host, KnownUrl } from './messages.ts';

/** A link in scope. */
export interface FoundLink extends SpelledUrl, Pick<KnownUrl, 'host' | 'sitemap'> {
  /** The Location of a redirect, which keeps the depth of its page. */
  readonly redirect?: boolean;
}

interface Ended {
  readonly request: PageRequest;
  /** The time of the last body byte, the error or the abort. */
  readonly endedAt: number;
  readonly durationMs: number;
  readonly ip: string | null;
  /** Where the response is archived, already on disk; absent: it is not archived. */
  readonly archived?: ArchivedAt;
}

/** A record in the archive. */
export interface ArchivedAt {
  readonly file: string;
  readonly offset: number;
  /** Length of the file after the record. */
  readonly end: number;
  /** Length of the file's index after the record. */
  readonly indexEnd: number;
  /** SHA-1 of the payload in base 32; absent if the body is empty or incomplete. */
  readonly payload?: string;
}

export interface ResponseOutcome extends Ended {
  readonly kind: 'response';
  readonly status: number;
  readonly retryAfterMs: number | null;
  readonly contentType: string | null;
  readonly bytes: number;
  readonly truncated: boolean;
  readonly digest: string | null;
  /** Identifies nearly equal pages; null if the page has too little text. */
  readonly simhash: string | null;
  readonly redirectTo: string | null;
  /** The form to request next, if the response redirects to the page's own identity. */
  readonly moved?: RequestForm;
  /** A request to the redirect target would send cookies. */
  readonly bringsCookies?: true;
  /** Identity of the canonical URL that the page names, if any. */
  readonly canonical?: string;
  readonly noindex?: boolean;
  readonly noarchive?: boolean;
  readonly etag?: string;
  readonly lastModified?: string;
  /** The page is the same as in the previous round. */
  readonly unchanged?: boolean;
  /** The server says that the page has not changed, so its links are known and not routed again. */
  readonly linksStand?: boolean;
  /** A remark that is not a failure: `parse_timeout`, `truncated`. */
  readonly note: string | null;
  readonly links: readonly FoundLink[];
  readonly outOfScope: number;
}

export interface RobotsOutcome extends Ended {
  readonly kind: 'robots';
  /** The Retry-After of the response, whatever its status; absent: none. */
  readonly retryAfterMs?: number;
  readonly answer:
    | {
        readonly kind: 'rules';
        readonly body: Uint8Array;
        /** The sitemaps in scope that the file names. */
        readonly sitemaps: readonly FoundLink[];
      }
    | { readonly kind: 'allowAll'; readonly reason: string }
    | {
        readonly kind: 'redirect';
        readonly location: RequestForm;
        readonly host: Host;
        /** Set if `host` is another host: the origin whose own robots.txt `location` is. */
        readonly origin?: string;
      }
    | {
        readonly kind: 'unreachable';
        readonly reason: string;
        /** An error code if there was no response; null for a status such as 503. */
        readonly error: string | null;
        readonly retryAfterMs: number | null;
        readonly status: number | null;
      };
}

export interface FailureOutcome extends Ended {
  readonly kind: 'failure';
  readonly code: string;
  readonly message: string;
  /**
   * `no-answer`: the host was reached, but sent no complete response before a time-out or a reset.
   * `withdrawn`: this agent aborted the request, which does not count as an attempt.
   */
  readonly cause: 'connection' | 'no-answer' | 'exchange' | 'forbidden-address' | 'withdrawn';
}

export type Outcome = ResponseOutcome | RobotsOutcome | FailureOutcome;
