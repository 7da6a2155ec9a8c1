import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, it } from 'node:test';
import {
  commandLine,
  helpText,
  oneOf,
  readFlags,
  UsageError,
  whole,
  wholes,
  zeroOrOne,
} from '../../../bench/flags.ts';

const flags = { runs: 3, delay: whole(10, 0, 500), only: '', write: zeroOrOne(0) };

/** The error message for these arguments, or `nothing`. */
function refusal(...argv: string[]): string {
  try {
    readFlags(flags, argv);
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  return 'nothing';
}

/** Runs bench/start.ts with arguments that start no measurement. */
function start(...argv: string[]) {
  const program = path.resolve(import.meta.dirname, '../../../bench/start.ts');
  return spawnSync(process.execPath, [program, ...argv], { encoding: 'utf8' });
}

describe('bench: flags', () => {
  it('bench: flags that are not given keep their defaults', () => {
    const values = { runs: 5, delay: 10, only: '', write: 0 };
    assert.deepEqual(readFlags(flags, ['--runs', '5']), { values, json: false });
  });

  it('bench: --json may stand anywhere', () => {
    assert.equal(readFlags(flags, ['--json', '--runs', '5']).json, true);
    assert.equal(readFlags(flags, ['--runs', '5', '--json']).json, true);
  });

  it('bench: accepts whole numbers within their bounds, and 0 only where it is allowed', () => {
    assert.equal(refusal('--delay', '0'), 'nothing');
    for (const value of ['0', '-1', '1.5', '1e3', 'x', '10000000']) {
      const told = `--runs ${value}: must be a whole number from 1 to 9999999`;
      assert.equal(refusal('--runs', value), told);
    }
    assert.equal(refusal('--delay', '501'), '--delay 501: must be a whole number from 0 to 500');
    assert.equal(refusal('--write', '2'), '--write 2: must be 0 or 1');
  });

  it('bench: refuses an unknown flag, a missing value or a stray argument, with the remedy', () => {
    const known = '--runs, --delay, --only, --write, --json, --help';
    assert.equal(refusal('--rnus', '3'), `--rnus: no such flag; there are ${known}`);
    assert.match(refusal('--constructor'), /no such flag/);
    assert.match(refusal('-x'), /^-x: no such flag/);
    assert.equal(refusal('--only'), '--only: lacks its value, a text');
    assert.equal(refusal('--only='), '--only: lacks its value, a text');
    assert.equal(refusal('7'), '7: belongs to no flag; see --help');
    assert.equal(refusal('--json=1'), '--json=1: takes no value; write --json');
  });

  it('bench: the reported command line omits defaults and --write', () => {
    const line = ['--only', 'a,b', '--write', '1', '--runs', '3', '--delay', '0'];
    const { values } = readFlags(flags, line);
    assert.equal(commandLine('x', flags, values), 'node bench/x.ts --delay 0 --only a,b');
  });

  it('bench: a list has different whole numbers, and a choice has one of its names', () => {
    const more = { agents: wholes([1, 2], 1, 64), client: oneOf('got', 'node') };
    const read = (...argv: string[]) => readFlags(more, argv).values;
    assert.deepEqual(read(), { agents: [1, 2], client: 'got' });
    const other = read('--agents', '4', '--client', 'node');
    assert.deepEqual(other, { agents: [4], client: 'node' });
    assert.equal(commandLine('x', more, other), 'node bench/x.ts --agents 4 --client node');
    assert.equal(commandLine('x', more, read('--agents', '1,2')), 'node bench/x.ts');
    const numbers = 'different whole numbers from 1 to 64, as in 1,2';
    for (const [argv, told] of [
      ['--agents=2,,4', `--agents 2,,4: must be ${numbers}`],
      ['--agents=65', `--agents 65: must be ${numbers}`],
      ['--agents=2,4,2', '--agents 2,4,2: names 2 twice'],
      ['--client=undici', '--client undici: must be got or node'],
    ] as const) {
      assert.throws(() => read(argv), { message: told });
    }
    assert.match(helpText('x', more), /\n {2}--agents 1,2 +different whole.*\n {2}--client got /);
  });

  it('bench: help lists every flag with its default', () => {
    const help = helpText('x', flags);
    for (const told of ['--runs 3 ', '--delay 10 ', "--only '' ", '--write 0 ', '--json ']) {
      assert.ok(help.includes(`\n  ${told}`), help);
    }
  });

  it('bench: --help exits with 0; a wrong flag prints one line and exits with 2', () => {
    const help = start('--runs', '0', '--help');
    assert.deepEqual([help.status, help.stderr], [0, '']);
    assert.match(help.stdout, /^ {2}--runs 7 /m);
    const wrong = start('--runs', '0');
    const told = 'start: --runs 0: must be a whole number from 1 to 9999999\n';
    assert.deepEqual([wrong.status, wrong.stdout, wrong.stderr], [2, '', told]);
  });
});
