// Tests that rejected SQL gets a remedy for its cause, with the messages of the present SQLite.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { prepareQuery } from '../../../../agent/cli/query/query-command.ts';
import { queryError } from '../../../../agent/cli/query/query-errors.ts';
import { viewColumns } from '../../../../agent/cli/state-files/query-views.ts';

function rejected(sql: string): string {
  const db = new Database(':memory:');
  for (const [view, columns] of Object.entries(viewColumns)) {
    db.exec(`CREATE TABLE ${view} (agent, ${columns.join(', ')})`);
  }
  const answer = prepareQuery(db, sql);
  db.close();
  assert.equal(typeof answer, 'string', sql);
  return answer as string;
}

test('query: rejected SQL gets a remedy for its cause', () => {
  const causes: [sql: string, answer: RegExp][] = [
    ['SELECT * FROM pagez', /: no such table: pagez; the views are pages, .*samples/],
    ['SELECT size FROM links', /: no such column: size; links has agent, source, target$/],
    ['SELECT size', /: no such column: size; write FROM and a view: pages, /],
    [
      'SELECT * FROM hosts WHERE host = "a"',
      /"a".*; write text in single quotes, or name a column: hosts has agent, host, /,
    ],
    ["SELECT x FROM hosts WHERE host LIKE '%links; pages%'", /: x; hosts has agent, [^.]*$/],
    ['SELECT "a; b" FROM links', /: no such column: "a;b" [^;]*; write text in single quotes, or/],
    [`SELECT "${'a; '.repeat(3000)}" FROM links`, /^.{310,350}; write text .* links has agent, /],
    ["SELECT 'more than one statement", /: unrecognized token: .*; .*lang_select/],
    ['SELECT sum(count(*)) FROM hosts', /: misuse of aggregate .*; .*lang_select/],
    ['SELECT host FROM pages, hosts', /: ambiguous column .*; .* as in pages\.host$/],
    ['DELETE FROM pages', /only statements that read data are permitted/],
    ["ATTACH 'x' AS y", /^only statements that read data are permitted; write a SELECT, /],
    ['SELECT 1; SELECT 2', /; run one statement at a time$/],
    [' ', /; write a statement, such as SELECT/],
    ['SELECT zork(1)', /: no such function: zork; .*lang_corefunc/],
    ['SELEC 1', /: near "SELEC": syntax error; .*lang_select/],
    ['SELECT count(', /: incomplete input; .*lang_select/],
  ];
  for (const [sql, answer] of causes) assert.match(rejected(sql), answer);
});

test('query: an expression that fails while it runs gets a remedy', () => {
  assert.match(queryError('malformed JSON', 'SELECT 1'), /; correct the expression, /);
  assert.match(queryError('string or blob too big', 'SELECT 1'), /; narrow it to some hosts/);
  const missing = 'Missing named parameters';
  assert.match(queryError(missing, 'SELECT :x'), /; write the values into the statement$/);
});
