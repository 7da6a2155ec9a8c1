// What one state file has of a URL, with what robots.txt there says of it: the answer of an agent
// to `explain`, and of the command itself where it reads the files. Here because storage and robots
// meet in it; the same code for both, so that they cannot differ.

import { robotsParser } from '../composition/config-parts.ts';
import type { Connection } from '../storage/encoding/connection.ts';
import {
  type ReadRow,
  type RobotsFacts,
  type StoredFacts,
  storedFacts,
} from '../storage/reads/url-facts.ts';
import type { Identity, RequestForm } from '../url/crawl-url.ts';
import { splitIdentity } from '../url/url-key.ts';

/** The verdict of the stored robots.txt; the file itself stays where it is. */
export interface RobotsVerdict {
  /** `rules`, `allowAll`, `unreachable` or `redirected`: on its way to the file. */
  readonly kind: string;
  readonly fetchedAt: number;
  /** Null where robots.txt could not be had: nothing is allowed for now. */
  readonly allowed: boolean | null;
  /** The line that matched; null where none did. */
  readonly rule: string | null;
  /** Why there are no rules, or whose they are where they are another host's. */
  readonly reason: string | null;
  /** Out of reach: when it may be asked again, Unix milliseconds; null: no attempt is left. */
  readonly retryAt: number | null;
}

/** A request that is under way. */
export interface OpenRequest {
  readonly kind: 'page' | 'robots';
  readonly url: RequestForm;
}

/** JSON. */
export interface Explanation extends Omit<StoredFacts, 'robots'> {
  readonly agent: string;
  readonly robots: RobotsVerdict | null;
  /** The one request to the host that is open now; null: none, or there is but a file to ask. */
  readonly open: OpenRequest | null;
}

/**
 * @param identity - canonical; throws a RangeError where it is not
 * @param form - the form that would be requested if nothing is known of the URL
 * @param openAt - the request that is open at a host
 */
export function explanationOf(parts: {
  readonly agent: string;
  readonly userAgent: string;
  readonly read: ReadRow;
  readonly identity: Identity;
  readonly form: RequestForm;
  readonly openAt?: (host: string) => OpenRequest | null;
}): Explanation {
  const { agent, userAgent, read, identity, form, openAt } = parts;
  const { robots, ...facts } = storedFacts(read, identity);
  const open = openAt?.(splitIdentity(identity)!.host) ?? null;
  const request = facts.url?.fetchUrl ?? form;
  return { agent, ...facts, robots: robots && verdictOf(robots, request, userAgent), open };
}

function verdictOf(robots: RobotsFacts, request: RequestForm, userAgent: string): RobotsVerdict {
  const { kind, fetchedAt, body, reason, retryAt } = robots;
  const said = { kind, fetchedAt, reason: reason === '' ? null : reason, retryAt };
  if (kind === 'unreachable' || kind === 'redirected')
    return { ...said, allowed: null, rule: null };
  if (body === null) return { ...said, allowed: true, rule: null };
  return { ...said, ...robotsParser(userAgent)(body).allows(request) };
}

/** Reads one row at a time of an open file. */
export function readRowOf(db: Connection): ReadRow {
  return (sql, ...values) => db.prepare<unknown[], Record<string, unknown>>(sql).get(...values);
}
