// What one state file has of a URL, with what robots.txt there says of it: the answer of an agent
// to `explain`, and of the command itself where it reads the files. Here because storage and robots
// meet in it; the same code for both, so that they cannot differ.

import { robotsParser } from './config-parts.ts';
import { type ReadRow, type StoredFacts, storedFacts } from './storage/url-facts.ts';

/** The verdict of the stored robots.txt; the file itself stays where it is. */
export interface RobotsVerdict {
  /** `rules`, `allowAll` or `unreachable`. */
  readonly kind: string;
  readonly fetchedAt: number;
  /** Null where robots.txt could not be had: nothing is allowed for now. */
  readonly allowed: boolean | null;
  /** The line that matched; null where none did. */
  readonly rule: string | null;
  /** Why there are no rules, or whose they are where they are another host's. */
  readonly reason: string | null;
}

/** JSON. */
export interface Explanation extends Omit<StoredFacts, 'robots'> {
  readonly agent: string;
  readonly robots: RobotsVerdict | null;
}

/** @param identity - canonical; throws a RangeError where it is not */
export function explanationOf(parts: {
  readonly agent: string;
  readonly userAgent: string;
  readonly read: ReadRow;
  readonly identity: string;
}): Explanation {
  const { agent, userAgent, read, identity } = parts;
  const { robots, ...facts } = storedFacts(read, identity);
  if (robots === null) return { agent, ...facts, robots: null };
  const { kind, fetchedAt, body, reason } = robots;
  const said = { kind, fetchedAt, reason: reason === '' ? null : reason };
  if (kind === 'unreachable') {
    return { agent, ...facts, robots: { ...said, allowed: null, rule: null } };
  }
  const request = facts.url?.fetchUrl ?? identity;
  const { allowed, rule } =
    body === null ? { allowed: true, rule: null } : robotsParser(userAgent)(body).allows(request);
  return { agent, ...facts, robots: { ...said, allowed, rule } };
}
