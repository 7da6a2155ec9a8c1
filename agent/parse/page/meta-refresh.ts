// Reads the target of `<meta http-equiv=refresh>` by the steps of the HTML Standard ("shared
// declarative refresh steps"), which accept many malformed values. A page that refreshes to another
// URL is in effect a redirect, so the target counts as a link.

/**
 * @param content - the `content` attribute, such as `5; url='next.html'`
 * @returns the target as written, possibly relative; empty: the page itself; null if there is no
 *   target or the content is invalid
 */
export function refreshTarget(content: string): string | null {
  let at = skipBlanks(content, 0);
  const digits = at;
  while (isDigit(content[at])) at++;
  if (at === digits && content[at] !== '.') return null;
  while (isDigit(content[at]) || content[at] === '.') at++;
  if (at < content.length && !isBlank(content[at]) && !/[;,]/.test(content[at]!)) return null;
  at = skipBlanks(content, at);
  if (content[at] === ';' || content[at] === ',') at = skipBlanks(content, at + 1);
  if (at >= content.length) return null;
  return unquoted(content, afterUrlEquals(content, at));
}

function afterUrlEquals(content: string, start: number): number {
  if (content.slice(start, start + 3).toLowerCase() !== 'url') return start;
  const equals = skipBlanks(content, start + 3);
  return content[equals] === '=' ? skipBlanks(content, equals + 1) : start;
}

function unquoted(content: string, start: number): string {
  const quote = content[start];
  if (quote !== '"' && quote !== "'") {
    let end = content.length;
    while (isBlank(content[end - 1])) end--;
    return content.slice(start, end);
  }
  const end = content.indexOf(quote, start + 1);
  return content.slice(start + 1, end < 0 ? content.length : end);
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text[at])) at++;
  return at;
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t' || char === '\n' || char === '\f' || char === '\r';
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= '0' && char <= '9';
}
