// The facts that one state file has about one URL: its row, the page record, the host, the
// robots.txt of its origin, whether it is in the outbox, and the operator's directives for the
// host. An agent reads them on its own connection; `ubiring explain` reads them from the files of
// stopped agents.

import { asForm, type Identity, type RequestForm } from '../../url/crawl-url.ts';
import { OWNER_IS_ASKED, REDIRECTED } from '../../url/redirect-reasons.ts';
import { identityOf, splitIdentity, urlKey } from '../../url/url-key.ts';
import { blockFor, ownDelayFor } from '../encoding/host-pattern-sql.ts';
import { internedText } from '../encoding/interned-strings.ts';
import { longUrl } from '../encoding/page-columns.ts';
import { idsOfHost, referrerOf } from '../encoding/url-ids.ts';

/** Returns the first row of a statement, with its columns by name; undefined: no row. */
export type ReadRow = (sql: string, ...values: unknown[]) => Record<string, unknown> | undefined;

export interface UrlFacts {
  readonly state: 'queued' | 'response' | 'failed' | 'skipped';
  /** The reason of a skipped URL. */
  readonly reason: string | null;
  readonly depth: number;
  readonly attempts: number;
  /** A robots.txt, a sitemap index or the config names it as a sitemap. */
  readonly sitemap: boolean;
  /** The end of the wait of a queued URL, in Unix milliseconds; 0: it does not wait. */
  readonly notBefore: number;
  readonly fetchUrl: RequestForm;
  /** Null for a seed. */
  readonly referrer: string | null;
  /**
   * The URL is requeued, by a refresh or because the rules that skipped it have changed, and has not
   * been requested since.
   */
  readonly again: boolean;
  /** The previous record of a page that was requeued, as `pages` shows it; null: none. */
  readonly former: Pick<UrlFacts, 'status' | 'error' | 'fetchedAt'> | null;
  /** Whether all links of the page are safe at their owners and backups. */
  readonly settled: boolean;
  readonly status: number | null;
  readonly error: string | null;
  readonly contentType: string | null;
  readonly bytes: number | null;
  readonly fetchedAt: number | null;
  readonly durationMs: number | null;
  readonly redirectTo: string | null;
  readonly warcFile: string | null;
  readonly warcOffset: number | null;
}

export interface HostFacts {
  /** Whether the agent owns the host; else the file has a copy. */
  readonly owned: boolean;
  readonly pagesDone: number;
  readonly queued: number;
  readonly notBefore: number;
  readonly lastFetchAt: number | null;
  readonly delayMs: number;
}

export interface RobotsFacts {
  readonly kind: string;
  readonly fetchedAt: number;
  readonly body: Uint8Array | null;
  readonly reason: string;
  /** When an unreachable robots.txt is retried, in Unix milliseconds; null: no attempt is left. */
  readonly retryAt: number | null;
}

export interface StoredFacts {
  readonly url: UrlFacts | null;
  readonly host: HostFacts | null;
  readonly robots: RobotsFacts | null;
  /** For a robots.txt that is not a URL of the crawl: the first known URL of its origin. */
  readonly askedFor: string | null;
  /** Another origin of the host with a pending remote robots look-up, for which the host waits. */
  readonly heldBy: string | null;
  /** The URL is in this agent's outbox. */
  readonly inOutbox: boolean;
  readonly paused: boolean;
  /** The pattern of the directive that blocks the host; null: none does. */
  readonly blockedBy: string | null;
}

const STATES = ['queued', 'response', 'failed', 'skipped'] as const;

/** Throws a RangeError if the identity is not canonical. */
export function storedFacts(read: ReadRow, identity: Identity): StoredFacts {
  const split = splitIdentity(identity);
  if (!split) throw new RangeError(`not a canonical URL: ${identity}`);
  const { host } = split;
  const row = read(HOST, host);
  const number = Number(row?.number);
  const url = row === undefined ? null : urlFacts(read, number, host, identity);
  const paused = read("SELECT 1 FROM order_rows WHERE kind = 'pause' AND value");
  return {
    url,
    host: row === undefined ? null : hostFacts(row),
    robots: row === undefined ? null : robotsFacts(read, number, identity),
    heldBy: row === undefined ? null : textOrNull(read(ASKING, number, originOf(identity))?.origin),
    askedFor: row === undefined || url !== null ? null : firstOf(read, number, host, identity),
    inOutbox: read('SELECT 1 FROM outbox WHERE url = ?', identity) !== undefined,
    paused: paused !== undefined,
    blockedBy: textOrNull(read(BLOCK, host)?.pattern),
  };
}

const BLOCK = `SELECT ${blockFor('h.host')} AS pattern FROM (SELECT ? AS host) h`;

const HOST = `SELECT number, owned, pages_done, queued, not_before, last_fetch_at,
  max(delay_ms, coalesce(${ownDelayFor('h.host')}, 0)) AS delay_ms
  FROM host_rows h WHERE host = ?`;

/** Scans the URLs of the host; it is fast enough for an interactive command. */
const URL_ROW = `SELECT u.*, p.status, ${internedText('p.error')} AS error,
  ${internedText('p.content_type')} AS content_type, p.bytes, p.fetched_at, p.duration_ms,
  p.redirect_to, ${internedText('p.warc_file')} AS warc_file, p.warc_offset,
  ${referrerOf('u')} AS found_on, f.status AS former_status, ${internedText('f.error')} AS former_error,
  f.fetched_at AS former_at
  FROM host_rows h JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
  LEFT JOIN page_records p ON p.id = u.id
  LEFT JOIN former_pages f ON f.id = u.id AND u.state IN (0, 3)
  WHERE h.number = ? AND u.key = ?`;

/** Scans the URLs of the host for the first one found whose key has the given prefix. */
const FIRST_OF_ORIGIN = `SELECT u.key FROM host_rows h JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
  WHERE h.number = ? AND substr(u.key, 1, ?) = ? ORDER BY u.found LIMIT 1`;

const ROBOTS = `SELECT kind, fetched_at, body, reason, retry_at FROM robots
  WHERE host = ? AND origin = ?`;

const ASKING = `SELECT origin FROM robots WHERE host = ? AND origin <> ? AND kind = 'unreachable'
  AND reason LIKE '${REDIRECTED}%${OWNER_IS_ASKED}' ORDER BY fetched_at DESC LIMIT 1`;

function hostFacts(row: Record<string, unknown>): HostFacts {
  return {
    owned: Number(row.owned) === 1,
    pagesDone: Number(row.pages_done),
    queued: Number(row.queued),
    notBefore: Math.round(Number(row.not_before)),
    lastFetchAt: numberOrNull(row.last_fetch_at),
    delayMs: Number(row.delay_ms),
  };
}

function urlFacts(
  read: ReadRow,
  number: number,
  host: string,
  identity: Identity,
): UrlFacts | null {
  const row = read(URL_ROW, number, urlKey(identity, host));
  if (row === undefined) return null;
  const referrer = textOrNull(row.found_on);
  return {
    state: STATES[Number(row.state)] ?? 'queued',
    reason: textOrNull(row.reason),
    depth: Number(row.depth),
    attempts: Number(row.attempts),
    sitemap: Number(row.sitemap) > 0,
    notBefore: Math.round(Number(row.not_before)),
    fetchUrl: textOrNull(row.fetch_url) ?? asForm(identity),
    referrer: referrer === null ? null : longUrl(referrer, host),
    again: Number(row.state) === 0 && Number(row.again) > 0 && Number(row.attempts) === 0,
    former: previousOf(row),
    settled: Number(row.done) > 0,
    status: numberOrNull(row.status),
    error: textOrNull(row.error),
    contentType: textOrNull(row.content_type),
    bytes: numberOrNull(row.bytes),
    fetchedAt: numberOrNull(row.fetched_at),
    durationMs: numberOrNull(row.duration_ms),
    redirectTo: textOrNull(row.redirect_to),
    warcFile: textOrNull(row.warc_file),
    warcOffset: numberOrNull(row.warc_offset),
  };
}

function previousOf(row: Record<string, unknown>): UrlFacts['former'] {
  if (row.former_at === null) return null;
  const [status, fetchedAt] = [numberOrNull(row.former_status), numberOrNull(row.former_at)];
  return { status, error: textOrNull(row.former_error), fetchedAt };
}

function robotsFacts(read: ReadRow, number: number, identity: Identity): RobotsFacts | null {
  const row = read(ROBOTS, number, originOf(identity));
  if (row === undefined) return null;
  const retryAt = Number(row.retry_at ?? Infinity);
  return {
    kind: String(row.kind),
    fetchedAt: Math.round(Number(row.fetched_at)),
    body: row.body instanceof Uint8Array ? row.body : null,
    reason: String(row.reason),
    retryAt: retryAt === Infinity ? null : Math.round(retryAt),
  };
}

function firstOf(read: ReadRow, number: number, host: string, identity: Identity): string | null {
  const origin = originOf(identity);
  if (identity !== `${origin}/robots.txt`) return null;
  const start = urlKey(`${origin}/`, host);
  const key = textOrNull(read(FIRST_OF_ORIGIN, number, start.length, start)?.key);
  return key === null ? null : identityOf(host, key);
}

function originOf(identity: Identity): string {
  return identity.slice(0, identity.indexOf('/', identity.indexOf('://') + 3));
}

function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Math.round(Number(value));
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
