/**
 * The Retry-After header (RFC 9110, section 10.2.3): seconds, or one of the three HTTP dates of
 * section 5.6.7. `Date.parse` would accept far more than those and read some in local time, so
 * the forms are matched here. Pure; the fetcher calls it with the wall clock, because a date in
 * the header is one.
 */

/** Longest wait believed. Longer ones are as good as errors, and timers overflow at 24.8 days. */
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
 * @param value the header, or undefined or null where it is missing.
 * @param wallNow Unix milliseconds, against which a date is measured.
 * @returns milliseconds to wait, 0 (a date gone by) to {@link RETRY_AFTER_MAX_MS}; null for a
 * missing, negative, fractional or unreadable value.
 */
export function parseRetryAfter(value: string | undefined | null, wallNow: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) {
    return Math.min(Number(text) * 1000, RETRY_AFTER_MAX_MS);
  }
  const at = parseHttpDate(text, wallNow);
  return at === null ? null : Math.min(Math.max(at - wallNow, 0), RETRY_AFTER_MAX_MS);
}

function parseHttpDate(text: string, wallNow: number): number | null {
  const fields = (IMF_FIXDATE.exec(text) ?? RFC_850.exec(text) ?? ASCTIME.exec(text))?.groups;
  if (fields === undefined) {
    return null;
  }
  const month = MONTHS.indexOf(fields.month!.toLowerCase());
  const [day, hour, minute, second] = [fields.day, fields.hour, fields.minute, fields.second].map(
    Number,
  ) as [number, number, number, number];
  const year = fields.year!.length === 2 ? fullYear(fields.year!, wallNow) : Number(fields.year);
  // A leap second is written as 60 and then taken as the next second.
  if (month < 0 || day < 1 || hour > 23 || minute > 59 || second > 60) {
    return null;
  }
  const midnight = new Date(0).setUTCFullYear(year, month, day);
  if (new Date(midnight).getUTCDate() !== day) {
    return null;
  }
  return midnight + ((hour * 60 + minute) * 60 + second) * 1000;
}

/** RFC 9110: two digits mean the year nearest to now that has them, at most 50 years ahead. */
function fullYear(twoDigits: string, wallNow: number): number {
  const latest = new Date(wallNow).getUTCFullYear() + 50;
  const year = latest - (latest % 100) + Number(twoDigits);
  return year > latest ? year - 100 : year;
}
