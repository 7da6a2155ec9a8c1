// Extracts the URLs of a `srcset` attribute by the steps of the HTML Standard ("parse a srcset
// attribute"). A URL may contain commas and a descriptor may contain parentheses, so the value
// cannot be split at commas.

const BLANK = /[\t\n\f\r ]/;
const WIDTH = /^\d+w$/;
const HEIGHT = /^\d+h$/;
const DENSITY = /^-?(?:\d+|\d*\.\d+)(?:[Ee][+-]?\d+)?x$/;

/** @returns the URLs with valid descriptors, as written, in order */
export function srcsetUrls(srcset: string): string[] {
  const urls: string[] = [];
  let at = 0;
  for (;;) {
    while (at < srcset.length && (srcset[at] === ',' || BLANK.test(srcset[at]!))) at++;
    if (at >= srcset.length) return urls;
    const start = at;
    while (at < srcset.length && !BLANK.test(srcset[at]!)) at++;
    let end = at;
    while (srcset[end - 1] === ',') end--;
    const url = srcset.slice(start, end);
    if (end < at) {
      urls.push(url);
      continue;
    }
    const descriptors = descriptorsEnd(srcset, at);
    if (areValid(srcset.slice(at, descriptors))) urls.push(url);
    at = descriptors;
  }
}

/** The next comma outside parentheses, or the end. */
function descriptorsEnd(srcset: string, start: number): number {
  let inParentheses = false;
  for (let at = start; at < srcset.length; at++) {
    const char = srcset[at];
    if (char === '(') inParentheses = true;
    else if (char === ')') inParentheses = false;
    else if (char === ',' && !inParentheses) return at;
  }
  return srcset.length;
}

/** Accepts unknown descriptors. */
function areValid(text: string): boolean {
  const seen = { width: false, height: false, density: false };
  for (const descriptor of text.split(/[\t\n\f\r ]+/)) {
    if (WIDTH.test(descriptor)) {
      if (seen.width || seen.density || Number.parseInt(descriptor, 10) === 0) return false;
      seen.width = true;
    } else if (HEIGHT.test(descriptor)) {
      if (seen.height || seen.density || Number.parseInt(descriptor, 10) === 0) return false;
      seen.height = true;
    } else if (DENSITY.test(descriptor)) {
      if (seen.width || seen.height || seen.density) return false;
      if (Number.parseFloat(descriptor) < 0) return false;
      seen.density = true;
    }
  }
  return seen.width || !seen.height;
}
