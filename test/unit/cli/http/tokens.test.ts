// Tokens and their roles.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Tokens } from '../../../../agent/cli/http/tokens.ts';

const READ = 'r'.repeat(16);
const ADMIN = 'a'.repeat(20);

function parsed(text: string): Tokens {
  const tokens = Tokens.parse(text);
  assert.ok(typeof tokens !== 'string', String(tokens));
  return tokens;
}

it('a token has the role of its line; a repeated one has the highest', () => {
  const tokens = parsed(
    `# tokens\nread ${READ}\n\n  admin\t${ADMIN}  \nsteer ${READ}\nread ${READ}\n`,
  );
  assert.equal(tokens.roleOf(READ), 'steer');
  assert.equal(tokens.roleOf(ADMIN), 'admin');
  for (const other of ['', READ.slice(1), `${READ}r`, READ.toUpperCase()]) {
    assert.equal(tokens.roleOf(other), null, other);
  }
});

it('a wrong line is named without its token', () => {
  for (const line of [ADMIN, `owner ${ADMIN}`, `read ${ADMIN} more`, `read: ${ADMIN}`]) {
    const why = Tokens.parse(`read ${READ}\n${line}`);
    assert.match(String(why), /^line 2 is not "ROLE TOKEN"/);
    assert.ok(!String(why).includes(ADMIN));
  }
  assert.match(
    String(Tokens.parse('read short')),
    /line 1: the token has fewer than 16 characters/,
  );
  assert.match(
    String(Tokens.parse(`read ${READ}\n`.repeat(101))),
    /more than 100 tokens; remove some/,
  );
});

it('a token whose characters HTTP may change is refused, without being shown', () => {
  for (const token of [`${READ}é`, `${READ}\u{1F511}`, `${READ}\0`, `${READ}\x7f`]) {
    const why = String(Tokens.parse(`read ${READ}\nread ${token}`));
    assert.match(why, /^line 2: the token has characters other than letters, digits and signs of/);
    assert.ok(!why.includes(token));
  }
  assert.equal(parsed(`steer ,;="${READ}~`).roleOf(`,;="${READ}~`), 'steer');
});

it('every token is a key, and a repeated one is a key once', () => {
  assert.equal(parsed(`admin ${ADMIN}\nsteer ${READ}\nread ${READ}\n`).keys.length, 2);
  assert.deepEqual(Tokens.none.keys, []);
});
