// Finds the end of a script. Inside a script, `<!-- <script>` starts a part in which the next end
// tag does not end the script (HTML Standard, "script data double escaped state"). htmlparser2 does
// not implement this state and would read the rest of the script as markup, so the scanner starts a
// new tokenizer at the end found here.

/** Everything that changes the state of a script. A blank, `/` or `>` must follow a name. */
const TURNING_POINT = /<!--|-->|<\/script(?=[\t\n\f\r />])|<script(?=[\t\n\f\r />])/gi;

/**
 * @param from - position after the start tag of the script
 * @returns the position of the end tag of the script, or the length of the text if it has none;
 *   null if htmlparser2 reads the script correctly, as it nearly always does
 */
export function escapedScriptEnd(text: string, from: number): number | null {
  let state: 'plain' | 'escaped' | 'double' = 'plain';
  /** Whether an end tag was passed that does not end the script; htmlparser2 would stop there. */
  let isMisread = false;
  TURNING_POINT.lastIndex = from;
  for (let found = TURNING_POINT.exec(text); found !== null; found = TURNING_POINT.exec(text)) {
    const what = found[0].toLowerCase();
    if (what === '<!--') {
      if (state === 'plain') state = 'escaped';
      // In `<!-->`, the same dashes open and close the comment.
      TURNING_POINT.lastIndex = found.index + '<!'.length;
    } else if (what === '-->') {
      state = 'plain';
    } else if (what === '<script') {
      if (state === 'escaped') state = 'double';
    } else if (state === 'double') {
      state = 'escaped';
      isMisread = true;
    } else {
      return isMisread ? found.index : null;
    }
  }
  return isMisread ? text.length : null;
}
