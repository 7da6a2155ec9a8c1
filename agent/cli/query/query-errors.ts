// The remedies of SQL that SQLite rejects, or that fails while it runs, by the message of SQLite.

import { viewColumns } from '../state-files/query-views.ts';

type View = keyof typeof viewColumns;

const views = Object.keys(viewColumns) as readonly View[];

const readOnly = 'only statements that read data are permitted, such as SELECT';

/** The first that matches the message applies. */
const remedies: readonly (readonly [RegExp, string | ((sql: string) => string)])[] = [
  [/^no such table/, `the views are ${views.join(', ')}`],
  [/string literal in single-quotes/, 'write text in single quotes'],
  [/^no such column/, columnsText],
  [/^ambiguous column/, 'write the view before the column, as in pages.host'],
  [/may not be modified|not authorized/, readOnly],
  [/more than one statement/, 'run one statement at a time'],
  [/contains no statements/, 'write a statement, such as SELECT count(*) FROM pages'],
  [/parameter values/, 'write the values into the statement'],
  [/function/, 'https://sqlite.org/lang_corefunc.html lists the functions'],
  [
    /syntax error|incomplete input|unrecognized token/,
    'https://sqlite.org/lang_select.html has the syntax',
  ],
  [/too big|out of memory/, 'narrow it to some hosts, or select fewer columns'],
];

/** @returns the message, and what to do */
export function queryError(message: string, sql: string): string {
  const [, remedy = 'docs/VIEWS.md says what the columns contain'] =
    remedies.find(([pattern]) => pattern.test(message)) ?? [];
  return `${message}; ${typeof remedy === 'string' ? remedy : remedy(sql)}`;
}

/** The error of a statement that is not a query. */
export const notReading = readOnly;

/** The columns of the views that the statement names. */
function columnsText(sql: string): string {
  const named = views.filter((view) => new RegExp(`\\b${view}\\b`, 'i').test(sql));
  const texts = named.map((view) => `${view} has ${['agent', ...viewColumns[view]].join(', ')}`);
  return texts.join('. ') || `name a view after FROM: ${views.join(', ')}`;
}
