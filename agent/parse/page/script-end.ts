// Where a script really ends. In a script, `<!-- <script>` opens a part in which the next end tag
// does not end the script (HTML Standard, "script data double escaped state"); htmlparser2 knows
// nothing of it and would read on in the middle of a program. The scanner asks here at every
// script that has a comment in it, and starts the tokenizer anew at the place it is told.

/** What changes the state of a script; the blank or bracket behind a name belongs to its tag. */
const TURNING_POINT = /<!--|-->|<\/script(?=[\t\n\f\r />])|<script(?=[\t\n\f\r />])/gi;

/**
 * @param text - of the page
 * @param from - behind the start tag of the script
 * @returns where the script's end tag begins, or the text's length where it has none; null where
 *   it is simply the first end tag, as it nearly always is
 */
export function escapedScriptEnd(text: string, from: number): number | null {
  let state: 'plain' | 'escaped' | 'double' = 'plain';
  /** An end tag was met that did not end the script: there htmlparser2 goes wrong. */
  let misled = false;
  TURNING_POINT.lastIndex = from;
  for (let found = TURNING_POINT.exec(text); found !== null; found = TURNING_POINT.exec(text)) {
    const what = found[0].toLowerCase();
    if (what === '<!--') {
      if (state === 'plain') state = 'escaped';
      // `<!-->` opens and closes with the same dashes.
      TURNING_POINT.lastIndex = found.index + '<!'.length;
    } else if (what === '-->') {
      state = 'plain';
    } else if (what === '<script') {
      if (state === 'escaped') state = 'double';
    } else if (state === 'double') {
      state = 'escaped';
      misled = true;
    } else {
      return misled ? found.index : null;
    }
  }
  return misled ? text.length : null;
}
