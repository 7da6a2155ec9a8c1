// The facts of one state file about a URL, with the verdict of the stored robots.txt. Both an agent
// and `explain`, if it reads the files itself, use this code, so that their results are the same.

import { robotsParser } from '../composition/config-parts.ts';
import type { NetworkWait } from '../core/crawl/networks-port.ts';
import type { Wait } from '../core/protocol/visits-port.ts';
import { wallMs } from '../runtime/clock.ts';
import type { Connection } from '../storage/encoding/connection.ts';
import {
  type HostFacts,
  type ReadRow,
  type RobotsFacts,
  type StoredFacts,
  storedFacts,
} from '../storage/reads/url-facts.ts';
import type { Identity, RequestForm } from '../url/crawl-url.ts';
import { splitIdentity } from '../url/url-key.ts';

/** The verdict of the stored robots.txt. */
export interface RobotsVerdict {
  /** `rules`, `allowAll`, `unreachable`, or `redirected` while a redirect is followed. */
  readonly kind: string;
  /** Unix milliseconds. */
  readonly fetchedAt: number;
  /** Null while robots.txt is unreachable or redirected; then no page is requested. */
  readonly allowed: boolean | null;
  /** The line that matched; null if none did. */
  readonly rule: string | null;
  /** Why there are no rules, or the other host that they come from. */
  readonly reason: string | null;
  /** Time of the next attempt if unreachable, in Unix milliseconds; null if there is none. */
  readonly retryAt: number | null;
}

export interface OpenRequest {
  readonly kind: 'page' | 'robots';
  readonly url: RequestForm;
}

/** The JSON result of `explain`. */
export interface Explanation extends Omit<StoredFacts, 'robots'> {
  readonly agent: string;
  readonly robots: RobotsVerdict | null;
  /** The open request to the host; null if there is none or if only the file was read. */
  readonly open: OpenRequest | null;
  /** Why the host waits; null if it does not. From the file only a delay or back-off is known. */
  readonly wait: Wait | null;
  /** What it waits for if `wait` names other networks. */
  readonly networks?: NetworkWait;
}

/**
 * @param parts.identity - must be canonical
 * @param parts.form - the form to request if the state file does not have the URL
 * @param parts.live - what only the running agent knows about a host
 * @param parts.now - Unix milliseconds; by default the present time
 * @throws RangeError if `identity` is not canonical
 */
export function explanationOf(parts: {
  readonly agent: string;
  readonly userAgent: string;
  readonly read: ReadRow;
  readonly identity: Identity;
  readonly form: RequestForm;
  readonly live?: (host: string) => Pick<Explanation, 'open' | 'wait' | 'networks'>;
  readonly now?: number;
}): Explanation {
  const { agent, userAgent, read, identity, form, live, now = wallMs() } = parts;
  const { robots, ...facts } = storedFacts(read, identity);
  const known = live?.(splitIdentity(identity)!.host) ?? {
    open: null,
    wait: facts.host && storedWait(facts.host, now),
  };
  const request = facts.url?.fetchUrl ?? form;
  return { agent, ...facts, robots: robots && verdictOf(robots, request, userAgent), ...known };
}

function storedWait({ queued, notBefore, lastFetchAt, delayMs }: HostFacts, now: number) {
  const untilMs = Math.max(notBefore, lastFetchAt === null ? 0 : lastFetchAt + delayMs);
  return queued > 0 && untilMs > now ? ({ kind: 'time', untilMs, why: 'delay' } as const) : null;
}

function verdictOf(robots: RobotsFacts, request: RequestForm, userAgent: string): RobotsVerdict {
  const { kind, fetchedAt, body, reason, retryAt } = robots;
  const said = { kind, fetchedAt, reason: reason === '' ? null : reason, retryAt };
  if (kind === 'unreachable' || kind === 'redirected')
    return { ...said, allowed: null, rule: null };
  if (body === null) return { ...said, allowed: true, rule: null };
  return { ...said, ...robotsParser(userAgent)(body).allows(request) };
}

/** Reads single rows of an open state file. */
export function readRowOf(db: Connection): ReadRow {
  return (sql, ...values) => db.prepare<unknown[], Record<string, unknown>>(sql).get(...values);
}
