// Numbers, times and colours as people read them.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const decimal = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const fine = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const count = (n) => whole.format(n);
export const some = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
export const rate = (n) => (n < 100 ? decimal : whole).format(n);
export const short = (n) => (Math.abs(n) < 10_000 ? whole : compact).format(n);
/** For the steps of an axis, which may be small fractions. */
export const step = (n) => (Math.abs(n) < 10 ? fine : Math.abs(n) < 10_000 ? whole : compact).format(n);
export const percent = (fraction) => `${decimal.format(fraction * 100)}\u00a0%`;

export function bytes(n) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let size = n;
  let unit = 0;
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1000;
  return `${(size < 10 && unit > 0 ? tenths : whole).format(size)} ${units[unit]}`;
}

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? tenths.format(s) : Math.round(s)} s`;
  const [d, h, m] = [Math.floor(s / 86_400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  if (d > 0) return `${d} d ${h} h`;
  if (h > 0) return `${h} h ${m} min`;
  return `${m} min ${Math.floor(s % 60)} s`;
}

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const dayAndClock = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A formatter throws for what is no date. */
const dated = (format) => (ms) => (Math.abs(ms) <= 8.64e15 ? format.format(ms) : '?');
export const time = dated(clock);
export const dateTime = dated(dayAndClock);

/** How long ago, or until when; `none` if there is no time. */
export function ago(ms, now, none) {
  if (ms === null) return none;
  return ms <= now ? `${duration(now - ms)} ago` : `in ${duration(ms - now)}`;
}

/** Hues that differ as much as possible for few agents; later ones fall between them. */
const HUES = [255, 60, 160, 345, 300, 105, 200, 30, 130, 275, 85, 225];

export function agentColour(index) {
  const hue = HUES[index % HUES.length] + Math.floor(index / HUES.length) * 11;
  const lightness = index % 2 === 0 ? 0.66 : 0.72;
  return `oklch(${lightness} 0.145 ${hue % 360})`;
}

/** By identifier, a2 before a10. */
export const byName = (a, b) => a.localeCompare(b, 'en', { numeric: true });
