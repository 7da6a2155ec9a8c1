// What became of a request: the one thing the outside tells the core about the web. Made by the
// page pipeline from a fetch and a parse; consumed by the visits (politeness, retries, page
// record) and by the core (links). Times are on the monotonic clock of the process.

import type { RequestForm, SpelledUrl } from '../../url/crawl-url.ts';
import type { PageRequest } from './effects.ts';
import type { Host } from './messages.ts';

/**
 * A link in scope. `redirect`: the Location of a redirect, which keeps the depth of its page.
 * `sitemap`: what names it says that it is one.
 */
export interface FoundLink extends SpelledUrl {
  readonly host: Host;
  readonly redirect?: boolean;
  readonly sitemap?: boolean;
}

interface Ended {
  readonly request: PageRequest;
  /** Last body byte, error or abort. */
  readonly endedAt: number;
  readonly durationMs: number;
  readonly ip: string | null;
  /** Where the response is archived, on disk already; absent where nothing is. */
  readonly archived?: ArchivedAt;
}

/** A record of the archive, and how long the file and its index are up to and with it. */
export interface ArchivedAt {
  readonly file: string;
  readonly offset: number;
  readonly end: number;
  readonly indexEnd: number;
  /** Of a body that is whole: its digest, and where and when it was first archived. */
  readonly original?: ArchivedOriginal;
}

/** An archived payload: SHA-1 in base 32, the URL and the second of its record. */
export interface ArchivedOriginal {
  readonly payload: string;
  readonly url: string;
  readonly at: number;
}

export interface ResponseOutcome extends Ended {
  readonly kind: 'response';
  readonly status: number;
  readonly retryAfterMs: number | null;
  readonly contentType: string | null;
  readonly bytes: number;
  readonly truncated: boolean;
  readonly digest: string | null;
  /** By which nearly equal pages are known; null where the page says too little. */
  readonly simhash: string | null;
  readonly redirectTo: string | null;
  /** The form to request next, where the response redirects to the page's own identity. */
  readonly moved?: RequestForm;
  /** Whether a request to where it redirects would bring cookies; absent: it would not. */
  readonly bringsCookies?: true;
  /** Identity of what the page calls its canonical form; absent where it names none. */
  readonly canonical?: string;
  readonly noindex?: boolean;
  readonly noarchive?: boolean;
  readonly etag?: string;
  readonly lastModified?: string;
  /** As it was in the round before. */
  readonly unchanged?: boolean;
  /** By the server's word: what it links to is known, and not told again. */
  readonly linksStand?: boolean;
  /** A remark on the page that is no failure: `parse_timeout`, `truncated`. */
  readonly note: string | null;
  readonly links: readonly FoundLink[];
  readonly outOfScope: number;
}

export interface RobotsOutcome extends Ended {
  readonly kind: 'robots';
  /** For how long the server asks to be left alone, whatever else it says; absent: it does not. */
  readonly retryAfterMs?: number;
  readonly answer:
    | {
        readonly kind: 'rules';
        readonly body: Uint8Array;
        /** Those that the file names, in scope. */
        readonly sitemaps: readonly FoundLink[];
      }
    | { readonly kind: 'allowAll'; readonly reason: string }
    | {
        readonly kind: 'redirect';
        readonly location: RequestForm;
        readonly host: Host;
        /** The origin whose own robots.txt it leads to, where that is in scope; absent: none. */
        readonly origin?: string;
      }
    | {
        readonly kind: 'unreachable';
        readonly reason: string;
        /** An error code where no response came; null for a status such as 503. */
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
   * `no-answer`: the host was reached, and no whole answer came in time or before a reset.
   * `withdrawn`: this agent itself gave the request up; it counts as no attempt.
   */
  readonly cause: 'connection' | 'no-answer' | 'exchange' | 'forbidden-address' | 'withdrawn';
}

export type Outcome = ResponseOutcome | RobotsOutcome | FailureOutcome;
