// What robots.txt decides about a URL, in the words of `ubiring explain`: the line that matched, or
// why there is none, or what is waited for. Where it is another host's file that cannot be had, that
// one is looked up as well, so that nobody has to explain one host after the other to learn why.

import type { Explanation, RobotsVerdict } from '../../control/explanation.ts';
import { OWNER_IS_ASKED, REDIRECTED } from '../../url/redirect-reasons.ts';
import { dateText } from '../common/output.ts';
import type { FilterVerdict } from './explain-report.ts';

/** As many redirects as are followed. */
const REDIRECTS_MAX = 5;

/** The file that it is, of a reason that tells so. */
const ELSEWHERE = new RegExp(`^${REDIRECTED}(\\S+)(?:, |$)`);

type Find = (identity: string) => Promise<Explanation | null>;

/**
 * @param obeyed - `politeness.robots`
 * @param find - what is known of another URL; null where nobody who has it answers
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
  const asks = isAsking(identity, stored) ? 'robots.txt is being asked for' : null;
  if (!robots) return asks ?? unaskedText(stored, find, left);
  if (robots.allowed === null) {
    const why = [outOfReach(robots), asks, await thereOf(robots, find, left)];
    return why.filter((text) => text !== null).join('; ');
  }
  if (robots.kind === 'allowAll') return `no rules: ${absentText(robots.reason ?? '')}`;
  // Rules have a reason only where they are another host's.
  const why = [robots.rule ?? 'no rule matches', robots.reason];
  return why.filter((text) => text !== null).join(', ');
}

function isAsking(identity: string, stored: Explanation | null): boolean {
  const { open = null } = stored ?? {};
  return open?.kind === 'robots' && new URL(open.url).origin === new URL(identity).origin;
}

function outOfReach({ kind, reason, retryAt }: RobotsVerdict): string {
  if (kind === 'redirected') return `${reason}, which has not been asked for yet`;
  // A status is not stored: 429, or one of 500 and more.
  const why = `unreachable: ${reason ?? 'the server answers 429 or 5xx'}`;
  if (reason?.endsWith(OWNER_IS_ASKED)) return why;
  return retryAt === null ? `${why}, given up` : `${why}, again after ${dateText(retryAt)}`;
}

async function unaskedText(stored: Explanation | null, find: Find, left: number): Promise<string> {
  const why = 'robots.txt has not been asked for';
  const heldBy = stored?.heldBy ?? null;
  if (heldBy === null || left === 0) return why;
  const file = `${heldBy}/robots.txt`;
  const there = await whyOf(file, await find(file), find, left - 1);
  return `${why}: its host waits for the rules of ${heldBy}, ${there}`;
}

/** The same of the file that it was redirected to. */
async function thereOf(
  { reason }: RobotsVerdict,
  find: Find,
  left: number,
): Promise<string | null> {
  const target = ELSEWHERE.exec(reason ?? '')?.[1];
  if (target === undefined || left === 0) return null;
  const found = await find(target);
  const why = found ? await whyOf(target, found, find, left - 1) : 'nobody who knows of it answers';
  return `there: ${why}`;
}

function absentText(reason: string): string {
  // Nothing follows where the file leads on to yet another one.
  const isLast = ELSEWHERE.test(reason) && !reason.includes(', ');
  return isLast ? `${reason}, once too often` : reason;
}
