// The remedies of SQL that SQLite rejects, or that fails while it runs, by the message of SQLite.

import { cut } from '../common/output.ts';
import { viewColumns } from '../state-files/query-views.ts';

type View = keyof typeof viewColumns;

const views = Object.keys(viewColumns) as readonly View[];
/** Characters of a message: it may contain the statement. */
const MESSAGE_MAX = 300;

const syntax = 'https://sqlite.org/lang_select.html has the syntax';

const inQuotes = 'write text in single quotes';

/** The first that matches the message applies. Messages may end with a part of the statement. */
const remedies: readonly (readonly [RegExp, string | ((sql: string) => string)])[] = [
  [/^near ".*": syntax error$|^incomplete input|^unrecognized token/s, syntax],
  [/^no such table/, `the views are ${views.join(', ')}`],
  [
    /^no such column: ".*single-quotes\?$/s,
    (sql) => `${inQuotes}, or name a column: ${columns(sql)}`,
  ],
  [/^no such column/, columns],
  [/^ambiguous column/, 'write the view before the column, as in pages.host'],
  [/may not be modified$/s, 'write a SELECT'],
  [/^not authorized/, 'omit functions that load code'],
  [/more than one statement$/, 'run one statement at a time'],
  [/contains no statements$/, 'write a statement, such as SELECT count(*) FROM pages'],
  [/\bparameter/, 'write the values into the statement'],
  [
    /^(no such function|wrong number of arguments to function)/,
    'https://sqlite.org/lang_corefunc.html lists the functions',
  ],
  [
    /^(malformed JSON|integer overflow|datatype mismatch|ESCAPE)/,
    'correct the expression, or omit such rows with WHERE',
  ],
  [/^string or blob too big|^out of memory/, 'narrow it to some hosts, or select fewer columns'],
];

/** @returns one line: the message, which has no "; ", and what to do after "; " */
export function queryError(message: string, sql: string): string {
  const [, remedy = syntax] = remedies.find(([pattern]) => pattern.test(message)) ?? [];
  const cause = cut(message.replaceAll(/\s+/g, ' ').replaceAll('; ', ';'), MESSAGE_MAX);
  return `${cause}; ${typeof remedy === 'string' ? remedy : remedy(sql)}`;
}

/** The error of a statement that is not a query. */
export const notReading =
  'only statements that read data are permitted; write a SELECT, WITH, VALUES or EXPLAIN';

/** The columns of the views that the statement names. */
function columns(sql: string): string {
  const code = sql.replaceAll(/'(?:[^']|'')*'/g, '');
  const named = views.filter((view) => new RegExp(`\\b${view}\\b`, 'i').test(code));
  const texts = named.map((view) => `${view} has ${['agent', ...viewColumns[view]].join(', ')}`);
  return texts.join('. ') || `write FROM and a view: ${views.join(', ')}`;
}
