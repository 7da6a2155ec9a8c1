// Durations and sizes as people write them. A bare number is the base unit (milliseconds, bytes), a
// string carries its unit; anything else is refused, since a guessed unit is a crawl a thousand
// times too fast. The schema parses with this, `config print` does not need it: it prints numbers.

/** One more millisecond and a Node timer fires at once: about 24.8 days. */
export const durationMsMax = 2 ** 31 - 1;

const DURATION = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h)$/;
const SIZE = /^(\d{1,15}(?:\.\d{1,6})?)(B|KiB|MiB|GiB)$/;

const MS_OF: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const BYTES_OF: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** The regular expression of a duration string, for the JSON Schema. */
export const durationPattern = DURATION;
/** The regular expression of a size string, for the JSON Schema. */
export const sizePattern = SIZE;

/** @returns milliseconds, rounded to whole ones; null where `text` is no duration. */
export function parseDuration(text: string): number | null {
  return scaled(DURATION.exec(text), MS_OF);
}

/** @returns bytes, rounded to whole ones; null where `text` is no size. */
export function parseSize(text: string): number | null {
  return scaled(SIZE.exec(text), BYTES_OF);
}

function scaled(match: RegExpExecArray | null, units: Readonly<Record<string, number>>) {
  const factor = units[match?.[2] ?? ''];
  return match === null || factor === undefined ? null : Math.round(Number(match[1]) * factor);
}
