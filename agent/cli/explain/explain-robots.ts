// The verdict of robots.txt on a URL for `ubiring explain`: the line that matched, or why there is none,
// or what the crawler waits for. If robots.txt redirects to another host's file that is unreachable,
// the text explains that one, too.

import type { Explanation, RobotsVerdict } from '../../control/explanation.ts';
import { OWNER_IS_ASKED, REDIRECTED } from '../../url/redirect-reasons.ts';
import { dateText } from '../common/output.ts';
import type { FilterVerdict } from './explain-text.ts';

/** Maximum number of redirects followed (RFC 9309, 2.3.1.2). */
const REDIRECTS_MAX = 5;

/** Matches the URL of the other file in a reason that names one. */
const ELSEWHERE = new RegExp(`^${REDIRECTED}(\\S+)(?:, |$)`);

type Find = (identity: string) => Promise<Explanation | null>;

/**
 * @param obeyed - `politeness.robots`
 * @param find - what is stored about another URL; null if no agent that has it answers
 */
export async function robotsFilter(
  obeyed: boolean,
  identity: string,
  stored: Explanation | null,
  find: Find,
): Promise<FilterVerdict> {
  const filter = 'robots';
  if (!obeyed) return { filter, passes: true, why: 'politeness.robots is false' };
  const passes = stored?.robots ? (stored.robots.allowed ?? false) : null;
  return { filter, passes, why: await whyOf(identity, stored, find, REDIRECTS_MAX) };
}

async function whyOf(
  identity: string,
  stored: Explanation | null,
  find: Find,
  left: number,
): Promise<string> {
  const robots = stored?.robots;
  const asks = isRequested(identity, stored) ? 'robots.txt is being requested' : null;
  if (!robots) return asks ?? notRequestedText(stored, find, left);
  if (robots.allowed === null) {
    const why = [unreachableText(robots), asks, await targetText(robots, find, left)];
    return why.filter((text) => text !== null).join('; ');
  }
  if (robots.kind === 'allowAll') return `no rules: ${absentText(robots.reason ?? '')}`;
  // Rules have a reason only if they are another host's.
  const why = [robots.rule ?? 'no rule matches', robots.reason];
  return why.filter((text) => text !== null).join(', ');
}

function isRequested(identity: string, stored: Explanation | null): boolean {
  const { open = null } = stored ?? {};
  return open?.kind === 'robots' && new URL(open.url).origin === new URL(identity).origin;
}

function unreachableText({ kind, reason, retryAt }: RobotsVerdict): string {
  if (kind === 'redirected') return `${reason}, which has not been requested yet`;
  // The status is not stored; it is 429 or at least 500.
  const why = `unreachable: ${reason ?? 'the server answers 429 or 5xx'}`;
  if (reason?.endsWith(OWNER_IS_ASKED)) return why;
  return retryAt === null
    ? `${why}, no attempt left`
    : `${why}, next attempt after ${dateText(retryAt)}`;
}

async function notRequestedText(
  stored: Explanation | null,
  find: Find,
  left: number,
): Promise<string> {
  const why = 'robots.txt has not been requested';
  const heldBy = stored?.heldBy ?? null;
  if (heldBy === null || left === 0) return why;
  const file = `${heldBy}/robots.txt`;
  const there = await whyOf(file, await find(file), find, left - 1);
  return `${why}: its host waits for the rules of ${heldBy}, ${there}`;
}

/** The same text for the file to which robots.txt redirects. */
async function targetText(
  { reason }: RobotsVerdict,
  find: Find,
  left: number,
): Promise<string | null> {
  const target = ELSEWHERE.exec(reason ?? '')?.[1];
  if (target === undefined || left === 0) return null;
  const found = await find(target);
  const why = found ? await whyOf(target, found, find, left - 1) : 'no agent that has it answers';
  return `there: ${why}`;
}

function absentText(reason: string): string {
  // Without a further text the redirect was not followed, because it was one too many.
  const isLast = ELSEWHERE.test(reason) && !reason.includes(', ');
  return isLast ? `${reason}, too many redirects` : reason;
}
