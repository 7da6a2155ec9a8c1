// What one state file has of one URL: its row, the page record, the host, the robots.txt of its
// origin, whether it waits in the outbox, and the operator's orders for the host. Reads only; run
// by an agent on its own connection and by `ubiring explain` on files of agents that do not run.

import { asForm, type Identity, type RequestForm } from '../../url/crawl-url.ts';
import { OWNER_IS_ASKED, REDIRECTED } from '../../url/redirect-reasons.ts';
import { identityOf, keyOf, splitIdentity } from '../../url/url-key.ts';
import { orderFor } from '../encoding/host-pattern-sql.ts';
import { idsOfHost, referrerOf } from '../encoding/url-ids.ts';
import { wordOf } from '../encoding/words.ts';

/** First row of a statement, its columns by name; undefined where there is none. */
export type ReadRow = (sql: string, ...values: unknown[]) => Record<string, unknown> | undefined;

export interface UrlFacts {
  readonly state: 'queued' | 'response' | 'failed' | 'skipped';
  /** Of a skip. */
  readonly reason: string | null;
  readonly depth: number;
  readonly attempts: number;
  /** Of a queued URL that waits: Unix milliseconds; else 0. */
  readonly notBefore: number;
  readonly fetchUrl: RequestForm;
  /** Null for a seed. */
  readonly referrer: string | null;
  /** Queued once more: for a refresh, or because the rules that it was skipped by have changed. */
  readonly again: boolean;
  /** How a page ended before it was queued again, or skipped since: the answer in `pages`; else null. */
  readonly former: Pick<UrlFacts, 'status' | 'error' | 'fetchedAt'> | null;
  /** Whether every link on it is safe. */
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
  /** Whether the file shows the host as its agent's; else what it has is a copy. */
  readonly owned: boolean;
  readonly pagesDone: number;
  readonly queued: number;
  readonly notBefore: number;
  readonly lastFetchAt: number | null;
  readonly delayMs: number;
  readonly blocked: boolean;
}

export interface RobotsFacts {
  readonly kind: string;
  readonly fetchedAt: number;
  readonly body: Uint8Array | null;
  readonly reason: string;
  /** Of one out of reach: when it may be asked again, Unix milliseconds; null: no attempt is left. */
  readonly retryAt: number | null;
}

export interface StoredFacts {
  readonly url: UrlFacts | null;
  readonly host: HostFacts | null;
  readonly robots: RobotsFacts | null;
  /** Of a robots.txt that is no URL of the crawl itself: the URL of its origin known first. */
  readonly askedFor: string | null;
  /** Another origin of the host, for whose rules another host's owner is asked: all wait for it. */
  readonly heldBy: string | null;
  /** It waits here to be sent to its owner. */
  readonly inOutbox: boolean;
  readonly paused: boolean;
}

const STATES = ['queued', 'response', 'failed', 'skipped'] as const;

/** @param identity - canonical; throws a RangeError where it is not */
export function storedFacts(read: ReadRow, identity: Identity): StoredFacts {
  const split = splitIdentity(identity);
  if (!split) throw new RangeError(`not a canonical URL: ${identity}`);
  const { host } = split;
  const row = read(HOST, host);
  const number = Number(row?.number);
  const url = row === undefined ? null : urlFacts(read, number, host, identity);
  const ordered = read(BLOCK, host);
  const paused = read("SELECT 1 FROM order_rows WHERE kind = 'pause' AND value");
  return {
    url,
    host: row === undefined ? null : hostFacts(row, ordered?.value != null),
    robots: row === undefined ? null : robotsFacts(read, number, identity),
    heldBy: row === undefined ? null : textOrNull(read(ASKING, number, originOf(identity))?.origin),
    askedFor: row === undefined || url !== null ? null : firstOf(read, number, host, identity),
    inOutbox: read('SELECT 1 FROM outbox WHERE url = ?', identity) !== undefined,
    paused: paused !== undefined,
  };
}

const BLOCK = `SELECT ${orderFor('block', 'h.host')} AS value FROM (SELECT ? AS host) h`;

const HOST = `SELECT number, owned, pages_done, queued, not_before, last_fetch_at,
  coalesce(${orderFor('delay', 'h.host')},
    (SELECT value FROM meta WHERE key = 'delay_ms'), 0) AS delay_ms
  FROM host_rows h WHERE host = ?`;

/** Goes through the URLs of the host: no one waits for it but a person. */
const URL_ROW = `SELECT u.*, p.status, ${wordOf('p.error')} AS error,
  ${wordOf('p.content_type')} AS content_type, p.bytes, p.fetched_at, p.duration_ms,
  p.redirect_to, ${wordOf('p.warc_file')} AS warc_file, p.warc_offset,
  ${referrerOf('u')} AS found_on, f.status AS former_status, ${wordOf('f.error')} AS former_error,
  f.fetched_at AS former_at
  FROM host_rows h JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
  LEFT JOIN page_records p ON p.id = u.id LEFT JOIN former_pages f ON f.id = u.id
  WHERE h.number = ? AND u.key = ?`;

/** As `URL_ROW` does. In the order of discovery, of keys that begin as the file's own does. */
const FIRST_OF_ORIGIN = `SELECT u.key FROM host_rows h JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
  WHERE h.number = ? AND substr(u.key, 1, ?) = ? ORDER BY u.found LIMIT 1`;

const ROBOTS = `SELECT kind, fetched_at, body, reason, retry_at FROM robots
  WHERE host = ? AND origin = ?`;

const ASKING = `SELECT origin FROM robots WHERE host = ? AND origin <> ? AND kind = 'unreachable'
  AND reason LIKE '${REDIRECTED}%${OWNER_IS_ASKED}' ORDER BY fetched_at DESC LIMIT 1`;

function hostFacts(row: Record<string, unknown>, blocked: boolean): HostFacts {
  return {
    owned: Number(row.owned) === 1,
    pagesDone: Number(row.pages_done),
    queued: Number(row.queued),
    notBefore: Math.round(Number(row.not_before)),
    lastFetchAt: numberOrNull(row.last_fetch_at),
    delayMs: Number(row.delay_ms),
    blocked,
  };
}

function urlFacts(
  read: ReadRow,
  number: number,
  host: string,
  identity: Identity,
): UrlFacts | null {
  const row = read(URL_ROW, number, keyOf(identity, host));
  if (row === undefined) return null;
  const referrer = textOrNull(row.found_on);
  return {
    state: STATES[Number(row.state)] ?? 'queued',
    reason: textOrNull(row.reason),
    depth: Number(row.depth),
    attempts: Number(row.attempts),
    notBefore: Math.round(Number(row.not_before)),
    fetchUrl: textOrNull(row.fetch_url) ?? asForm(identity),
    // A key of the same host has no `t` there; a whole URL begins with `http`.
    referrer: referrer === null || referrer[1] === 't' ? referrer : identityOf(host, referrer),
    again: Number(row.state) === 0 && Number(row.again) > 0,
    former: formerOf(row),
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

function formerOf(row: Record<string, unknown>): UrlFacts['former'] {
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
  const start = keyOf(`${origin}/`, host);
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
