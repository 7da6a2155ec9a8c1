// The roles of clients: with and without a token, on this machine and on others, for the dashboard
// and for pages of other sites.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { demand, roleOf } from '../../../../agent/cli/api/http-access.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { Tokens } from '../../../../agent/cli/http/tokens.ts';

const TOKEN = 's'.repeat(24);
const tokens = Tokens.parse(`steer ${TOKEN}`) as Tokens;
const LOCAL = '127.0.0.1';
const HOST = '127.0.0.1:9100';
const AWAY = '10.0.0.7';

function roleWith(
  headers: Readonly<Record<string, string>>,
  remoteAddress: string | undefined = LOCAL,
) {
  const known = 'authorization' in headers ? tokens : Tokens.none;
  return roleOf({ headers: { host: HOST, ...headers }, remoteAddress }, known);
}

function refused(code: string, status: number) {
  return (error: unknown) => {
    assert.ok(error instanceof HttpProblem);
    assert.deepEqual([error.document.code, error.document.status], [code, status]);
    assert.ok(!JSON.stringify(error.document).includes(TOKEN));
    return true;
  };
}

describe('without a token', () => {
  it('a client on this machine reads', () => {
    for (const host of [HOST, 'localhost:9100', '[::1]:9100', '127.0.0.1']) {
      assert.equal(roleWith({ host }), 'read');
    }
    assert.equal(roleWith({}, '::ffff:127.0.0.1'), 'read');
    assert.equal(roleWith({ 'sec-fetch-site': 'none' }), 'read');
  });

  it('the dashboard steers', () => {
    assert.equal(roleWith({ 'sec-fetch-site': 'same-origin' }), 'admin');
    assert.equal(roleWith({ origin: `http://${HOST}` }), 'admin');
  });

  it('a page of another site neither reads nor steers', () => {
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site, origin: `http://${HOST}` };
      assert.throws(() => roleWith(headers), refused('other-site', 403));
    }
    for (const origin of ['http://evil.test', 'http://127.0.0.1:9101', `https://${HOST}`, 'null']) {
      assert.equal(roleWith({ origin, 'sec-fetch-site': 'same-origin' }), 'read', origin);
    }
  });

  it('a page whose name was changed to a loopback address neither reads nor steers', () => {
    for (const host of [
      'evil.test',
      'evil.test:9100',
      '127.0.0.1.evil.test',
      '',
      'localhost.evil.test',
    ]) {
      const headers = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
      assert.throws(() => roleWith(headers), refused('host-refused', 403), host);
    }
  });

  it('another machine neither reads nor steers, also through a proxy on this one', () => {
    assert.throws(() => roleWith({}, AWAY), refused('token-missing', 401));
    assert.throws(
      () => roleWith({ origin: `http://${HOST}` }, AWAY),
      refused('token-missing', 401),
    );
    assert.throws(
      () => roleOf({ headers: {}, remoteAddress: undefined }, tokens),
      refused('token-missing', 401),
    );
    for (const name of ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']) {
      assert.throws(() => roleWith({ [name]: AWAY }), refused('token-missing', 401), name);
    }
  });
});

it('with tokens, the dashboard without one only reads: a proxy may be between', () => {
  const headers = { host: HOST, origin: `http://${HOST}` };
  assert.equal(roleOf({ headers, remoteAddress: LOCAL }, tokens), 'read');
});

describe('with a token', () => {
  it('a client has the role of the token, from anywhere and with any Host header', () => {
    const headers = { authorization: `Bearer ${TOKEN}`, host: 'crawler.example.org' };
    assert.equal(roleWith(headers, AWAY), 'steer');
    assert.equal(roleWith({ ...headers, 'x-forwarded-for': AWAY }), 'steer');
  });

  it('a wrong token gives nothing, also on this machine', () => {
    for (const authorization of [`Bearer ${TOKEN}x`, 'Bearer', `Basic ${TOKEN}`, TOKEN, '']) {
      assert.throws(
        () => roleWith({ authorization }),
        refused('token-unknown', 401),
        authorization,
      );
    }
  });
});

it('a role includes the earlier ones', () => {
  const { none } = Tokens;
  demand('read', 'read', none);
  demand('steer', 'admin', none);
  assert.throws(() => demand('steer', 'read', none), refused('role-too-low', 403));
  assert.throws(() => demand('admin', 'steer', none), refused('role-too-low', 403));
});

it('without tokens, the remedy says how to configure some', () => {
  const saysHow = ({ document: { remedy } }: HttpProblem) =>
    /monitor\.tokens .* "steer TOKEN"/.test(remedy);
  assert.throws(() => demand('steer', 'read', Tokens.none), saysHow);
  assert.throws(() => roleOf({ headers: {}, remoteAddress: AWAY }, Tokens.none), saysHow);
});
