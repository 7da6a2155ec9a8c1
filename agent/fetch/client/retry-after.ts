/**
 * The Retry-After header (RFC 9110, section 10.2.3): seconds, or one of the three HTTP date forms
 * of section 5.6.7. `Date.parse` accepts many other forms and reads some of them in local time, so
 * the forms are matched here. A date is compared with the response's Date header, because both come
 * from the server's clock.
 */

import type { IncomingHttpHeaders } from 'node:http';

/** Longest wait accepted. A longer one is probably a mistake, and timers overflow at 24.8 days. */
export const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const TIME = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})';
const IMF_FIXDATE = new RegExp(
  `^[a-z]{3}, (?<day>\\d{2}) (?<month>[a-z]{3}) (?<year>\\d{4}) ${TIME} (?:gmt|utc)$`,
  'i',
);
const RFC_850 = new RegExp(
  `^[a-z]{6,9}, (?<day>\\d{2})-(?<month>[a-z]{3})-(?<year>\\d{2}) ${TIME} (?:gmt|utc)$`,
  'i',
);
const ASCTIME = new RegExp(
  `^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`,
  'i',
);

/**
 * @param wallNow Unix milliseconds; used if the Date header is absent or unreadable.
 * @returns milliseconds to wait, 0 (for a past date) to {@link RETRY_AFTER_MAX_MS}. Null if the
 * value is absent, negative, fractional or unreadable.
 */
export function parseRetryAfter(
  headers: Pick<IncomingHttpHeaders, 'date' | 'retry-after'>,
  wallNow: number,
): number | null {
  const text = headers['retry-after']?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, RETRY_AFTER_MAX_MS);
  const at = parseHttpDate(text, wallNow);
  if (at === null) return null;
  const sentAt = parseHttpDate(headers.date?.trim() ?? '', wallNow) ?? wallNow;
  return Math.min(Math.max(at - sentAt, 0), RETRY_AFTER_MAX_MS);
}

function parseHttpDate(text: string, wallNow: number): number | null {
  const fields = (IMF_FIXDATE.exec(text) ?? RFC_850.exec(text) ?? ASCTIME.exec(text))?.groups;
  if (fields === undefined) return null;
  const month = MONTHS.indexOf(fields.month!.toLowerCase());
  const [day, hour, minute, second] = [fields.day, fields.hour, fields.minute, fields.second].map(
    Number,
  ) as [number, number, number, number];
  const year = fields.year!.length === 2 ? fullYear(fields.year!, wallNow) : Number(fields.year);
  // A leap second is written as 60 and counts as the next second.
  if (month < 0 || day < 1 || hour > 23 || minute > 59 || second > 60) return null;
  const midnight = new Date(0).setUTCFullYear(year, month, day);
  if (new Date(midnight).getUTCDate() !== day) return null;
  return midnight + ((hour * 60 + minute) * 60 + second) * 1000;
}

/**
 * RFC 9110: a two-digit year is the latest year with these digits that is at most 50 years ahead.
 */
function fullYear(twoDigits: string, wallNow: number): number {
  const latest = new Date(wallNow).getUTCFullYear() + 50;
  const year = latest - (latest % 100) + Number(twoDigits);
  return year > latest ? year - 100 : year;
}
