// Composable checks of untrusted JSON values. A check allocates nothing for a valid value, because
// messages are frequent: about two a page. Objects may have only known own keys, so keys such as
// `__proto__` are refused.

/**
 * Returns null for a valid value, else the end of an error message: `.url: too long` follows
 * `message.urls[3]`. `incarnationMax` is the highest plausible incarnation.
 */
export type Check = (value: unknown, incarnationMax: number) => string | null;

export interface Optional {
  readonly optional: Check;
}

type Field<T, K extends keyof T> = Record<never, never> extends Pick<T, K> ? Optional : Check;

/** One check for each property of T; `optional` for the optional ones. */
export type Fields<T> = { readonly [K in keyof T]-?: Field<T, K> };

/** A property that may be absent. */
export function optional(check: Check): Optional {
  return { optional: check };
}

/** A value that passes the check, or null. */
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

/** A string that matches the pattern. `what` completes the message "not …". */
export function textLike(pattern: RegExp, what: string, charsMax: number, charsMin = 1): Check {
  const size = text(charsMax, charsMin);
  return (value, inc) =>
    size(value, inc) ?? (pattern.test(value as string) ? null : `: not ${what}`);
}

/** A whole number from `min` to `max`, at most 2^53 - 1. */
export function natural(max = Number.MAX_SAFE_INTEGER, min = 0): Check {
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? null
      : `: not a whole number from ${min} to ${max}`;
}

/** A whole number whose magnitude is at most 2^53 - 1. */
export const integer: Check = (value) =>
  Number.isSafeInteger(value) ? null : ': not a whole number';

/** A whole number from 0 to `incarnationMax`. */
export const incarnation: Check = (value, incarnationMax) =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= incarnationMax
    ? null
    : ': not a plausible incarnation';

/** A finite number, 0 or more: durations may have fractions of a millisecond. */
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

/** An array of at most `max` items that all pass the check. */
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

/** Whether the value is a JSON object: neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object with these properties and no others. */
export function shape<T>(fields: Fields<T>): Check {
  const required: [string, Check][] = [];
  const optionals: [string, Check][] = [];
  for (const [key, field] of Object.entries<Check | Optional>(fields)) {
    if (typeof field === 'function') required.push([key, field]);
    else optionals.push([key, field.optional]);
  }
  return (value, inc) => {
    if (!isRecord(value)) return ': not an object';
    let known = required.length;
    for (const [key, check] of required) {
      const wrong = check(value[key], inc);
      if (wrong !== null) return value[key] === undefined ? `.${key}: missing` : `.${key}${wrong}`;
    }
    for (const [key, check] of optionals) {
      const field = value[key];
      if (field === undefined) continue;
      known += 1;
      const wrong = check(field, inc);
      if (wrong !== null) return `.${key}${wrong}`;
    }
    return Object.keys(value).length === known ? null : ': unknown key';
  };
}
