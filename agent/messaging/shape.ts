// Small checkers of untrusted JSON values, put together into the shapes of the messages by
// `validate.ts`. A check answers null, or what is wrong and where; nothing is allocated while all
// is well, since about two messages a page pass here. Only own keys that the type knows are
// allowed, so `__proto__` and friends from JSON are refused as unknown keys and never copied.

/**
 * Null when the value is right, else the rest of the sentence `message.urls[3]` + `.url: too long`.
 * `incarnationMax` is the highest incarnation that is believable now.
 */
export type Check = (value: unknown, incarnationMax: number) => string | null;

interface Optional {
  readonly optional: Check;
}

type Field<T, K extends keyof T> = Record<never, never> extends Pick<T, K> ? Optional : Check;

/** One check for each property of T; optional ones wrapped, as the type has them. */
export type Fields<T> = { readonly [K in keyof T]-?: Field<T, K> };

/** Marks a property that may be absent. */
export function optional(check: Check): Optional {
  return { optional: check };
}

/** What the check wants, or null. */
export function nullable(check: Check): Check {
  return (value, inc) => (value === null ? null : check(value, inc));
}

/** A string of `charsMin` to `charsMax` UTF-16 units. */
export function text(charsMax: number, charsMin = 0): Check {
  return (value) => {
    if (typeof value !== 'string') return ': not a string';
    if (value.length > charsMax) return `: longer than ${charsMax} characters`;
    return value.length < charsMin ? ': empty' : null;
  };
}

/** A string as {@link text} that also matches the pattern; `what` completes "not …". */
export function textLike(pattern: RegExp, what: string, charsMax: number): Check {
  const size = text(charsMax, 1);
  return (value, inc) =>
    size(value, inc) ?? (pattern.test(value as string) ? null : `: not ${what}`);
}

/** A whole number from 0 to `max`, at most 2^53 - 1. */
export function natural(max = Number.MAX_SAFE_INTEGER): Check {
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max
      ? null
      : `: not a whole number from 0 to ${max}`;
}

/** A whole number up to the caller's ceiling for incarnations. */
export const incarnation: Check = (value, incarnationMax) =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= incarnationMax
    ? null
    : ': not a believable incarnation';

/** A finite number, 0 or more (durations may be fractions of a millisecond). */
export const duration: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
    ? null
    : ': not a duration';

/** A number above 0, up to `max`. */
export function positive(max: number): Check {
  return (value) =>
    typeof value === 'number' && value > 0 && value <= max ? null : `: not above 0, at most ${max}`;
}

export const flag: Check = (value) => (typeof value === 'boolean' ? null : ': not true or false');

/** Exactly one of these strings. */
export function oneOf(words: readonly string[]): Check {
  const known = new Set<unknown>(words);
  return (value) => (known.has(value) ? null : ': unknown');
}

/** An array of at most `max` items that all pass. */
export function list(item: Check, max: number): Check {
  return (value, inc) => {
    if (!Array.isArray(value)) return ': not an array';
    if (value.length > max) return `: more than ${max} items`;
    for (let i = 0; i < value.length; i += 1) {
      const wrong = item(value[i], inc);
      if (wrong !== null) return `[${i}]${wrong}`;
    }
    return null;
  };
}

/** Whether the value is an object of JSON, neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object with exactly these properties. */
export function shape<T>(fields: Fields<T>): Check {
  const required: [string, Check][] = [];
  const absentable: [string, Check][] = [];
  for (const [key, field] of Object.entries<Check | Optional>(fields)) {
    if (typeof field === 'function') required.push([key, field]);
    else absentable.push([key, field.optional]);
  }
  return (value, inc) => {
    if (!isRecord(value)) return ': not an object';
    let known = required.length;
    for (const [key, check] of required) {
      const wrong = check(value[key], inc);
      if (wrong !== null) return value[key] === undefined ? `.${key}: missing` : `.${key}${wrong}`;
    }
    for (const [key, check] of absentable) {
      const field = value[key];
      if (field === undefined) continue;
      known += 1;
      const wrong = check(field, inc);
      if (wrong !== null) return `.${key}${wrong}`;
    }
    return Object.keys(value).length === known ? null : ': unknown key';
  };
}
