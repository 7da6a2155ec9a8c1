import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cell, type Format, formatRows } from '../../../../agent/cli/query/query-format.ts';

function text(format: Format, columns: string[], rows: Cell[][], width: number | null = null) {
  return [...formatRows(format, columns, rows, width)].join('');
}

test('csv: quotes fields as RFC 4180 requires, and ends each line with CRLF', () => {
  const rows: Cell[][] = [
    ['plain', 'a,b', 'say "hi"', 'two\nlines', null, 1.5],
    ['', ' space ', 'cr\r', 'x', 12n, new Uint8Array([0xab, 1])],
  ];
  assert.equal(
    text('csv', ['a', 'b,c', 'd', 'e', 'f', 'g'], rows),
    'a,"b,c",d,e,f,g\r\n' +
      'plain,"a,b","say ""hi""","two\nlines",,1.5\r\n' +
      ', space ,"cr\r",x,12,ab01\r\n',
  );
});

test('csv: prints a row that has one empty cell', () => {
  assert.equal(text('csv', ['a'], [[null], ['x']]), 'a\r\n""\r\nx\r\n');
});

test('json: prints one array for any number of rows', () => {
  assert.deepEqual(JSON.parse(text('json', ['a'], [])), []);
  const rows: Cell[][] = [
    ['é"\n', null],
    ['x', 2],
  ];
  assert.deepEqual(JSON.parse(text('json', ['a', 'b'], rows)), [
    { a: 'é"\n', b: null },
    { a: 'x', b: 2 },
  ]);
});

test('reals that are infinite or large are neither null nor look like integers', () => {
  const row: Cell[] = [Infinity, -Infinity, 1e17, -1e15, 2n ** 60n, 1.5, -0.25];
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const json = '"a":"Infinity","b":"-Infinity","c":1e+17,"d":-1000000000000000';
  const exact = '"e":1152921504606846976,"f":1.5,"g":-0.25';
  assert.equal(text('json', names, [row]), `[\n{${json},${exact}}\n]\n`);
  const csv = 'Infinity,-Infinity,1e+17,-1000000000000000,1152921504606846976,1.5,-0.25';
  assert.equal(text('csv', names, [row]).split('\r\n')[1], csv);
});

test('json: keeps all columns with the same name', () => {
  assert.deepEqual(JSON.parse(text('json', ['url', 'url', 'url_2'], [['a', 'b', 'c']])), [
    { url: 'a', url_2: 'b', url_2_2: 'c' },
  ]);
});

test('table: aligns numbers to the right, and cuts nothing without a terminal', () => {
  const long = 'u'.repeat(300);
  const rows: Cell[][] = [
    [long, 5],
    ['x', 12_345],
  ];
  const lines = text('table', ['url', 'n'], rows).split('\n');
  assert.equal(lines[2], `${long}      5`);
  assert.equal(lines[3], `x${' '.repeat(299)}  12345`);
});

test('table: shortens the widest column to fit the terminal', () => {
  const rows: Cell[][] = [['u'.repeat(100), 'short', 'v'.repeat(30)]];
  const lines = text('table', ['url', 'word', 'other'], rows, 60).split('\n');
  assert.equal(lines[2]?.length, 60);
  assert.match(lines[2] ?? '', /^u+… {2}short {2}v+…?$/);
});

test('table: streams rows after it has measured the first thousand', () => {
  let taken = 0;
  function* endless(): Generator<Cell[]> {
    for (;;) yield [taken++];
  }
  const chunks = formatRows('table', ['n'], endless(), null);
  assert.equal(chunks.next().value?.split('\n').length, 1003);
  assert.equal(taken, 1000);
  assert.equal(chunks.next().value, '1000\n');
});
