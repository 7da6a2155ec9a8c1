// Parses durations and sizes with a unit, such as `10s` and `2MiB`. Strings without a unit are
// refused, because guessing it wrong could make a crawl a thousand times too fast.

/** About 24.8 days. A Node timer with a longer delay fires at once. */
export const durationMsMax = 2 ** 31 - 1;

/** Also part of the JSON Schema, as is `sizePattern`. */
export const durationPattern = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h)$/;
export const sizePattern = /^(\d{1,15}(?:\.\d{1,6})?)(B|KiB|MiB|GiB)$/;

const MS_OF: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const BYTES_OF: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** @returns milliseconds, rounded to an integer; null if `text` is not a duration, or rounds to none */
export function parseDuration(text: string): number | null {
  return scaled(durationPattern.exec(text), MS_OF);
}

/** @returns bytes, rounded to an integer; null if `text` is not a size, or rounds to none */
export function parseSize(text: string): number | null {
  return scaled(sizePattern.exec(text), BYTES_OF);
}

function scaled(match: RegExpExecArray | null, units: Readonly<Record<string, number>>) {
  const factor = units[match?.[2] ?? ''];
  if (match === null || factor === undefined) return null;
  const exact = Number(match[1]) * factor;
  const rounded = Math.round(exact);
  // 0 means something else: no delay, or no limit.
  return rounded === 0 && exact > 0 ? null : rounded;
}
