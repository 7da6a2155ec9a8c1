// The roles of clients: with and without a token, on this machine and on others, for the dashboard
// and for pages of other sites.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Asker, demand, roleOf } from '../../../../agent/cli/api/http-access.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { signed } from '../../../../agent/cli/http/request-signature.ts';
import { Tokens } from '../../../../agent/cli/http/tokens.ts';

const TOKEN = 's'.repeat(24);
const tokens = Tokens.parse(`steer ${TOKEN}`) as Tokens;
const LOCAL = '127.0.0.1';
const HOST = '127.0.0.1:9100';
const AWAY = '10.0.0.7';
const NOW = 1_800_000_000_000;

function asking(parts: Partial<Asker>): Asker {
  const request = { method: 'GET', target: '/api/v1/hosts?limit=7', headers: {} };
  return { ...request, remoteAddress: LOCAL, localPort: 9100, ...parts };
}

function roleWith(
  headers: Readonly<Record<string, string>>,
  remoteAddress: string | undefined = LOCAL,
) {
  const known = 'authorization' in headers ? tokens : Tokens.none;
  return roleOf(asking({ headers: { host: HOST, ...headers }, remoteAddress }), known, NOW);
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
      () => roleOf(asking({ remoteAddress: undefined }), tokens, NOW),
      refused('token-missing', 401),
    );
    for (const name of ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']) {
      assert.throws(() => roleWith({ [name]: AWAY }), refused('token-missing', 401), name);
    }
  });
});

it('with tokens, the dashboard without one only reads: a proxy may be between', () => {
  const headers = { host: HOST, origin: `http://${HOST}` };
  assert.equal(roleOf(asking({ headers }), tokens, NOW), 'read');
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

describe('with a signature', () => {
  const AGENT = '10.0.0.5:9100';
  const keysOf = (keys: readonly string[]) =>
    (Tokens.parse(keys.map((key) => `read ${key}`).join('\n')) as Tokens).keys;

  /** The role of a client on another machine that has signed a request and sends this one. */
  function roleOfSigned(
    { keys = [TOKEN], host = AGENT, minutes = 0, method = 'GET' } = {},
    sent: Partial<Asker> = {},
    header = (authorization: string) => authorization,
  ) {
    const { target } = asking({});
    const at = NOW / 1000 - 60 * minutes;
    const authorization = header(signed(keysOf(keys), { method, host, target, at }));
    const headers = { host, authorization, ...sent.headers };
    const asker = asking({ method, remoteAddress: AWAY, ...sent, headers });
    return roleOf(asker, Tokens.parse(`read ${'r'.repeat(16)}\nadmin ${TOKEN}`) as Tokens, NOW);
  }

  it('an agent reads with a token of any role, and does no more', () => {
    assert.equal(roleOfSigned(), 'read');
    assert.equal(roleOfSigned({ keys: ['r'.repeat(16)] }), 'read');
    assert.equal(roleOfSigned({}, { remoteAddress: LOCAL }), 'read');
    const others = Array.from({ length: 99 }, (_, k) => `other-token-${1000 + k}`);
    for (const keys of [
      [...others, TOKEN],
      [TOKEN, ...others],
    ]) {
      assert.equal(roleOfSigned({ keys }), 'read');
    }
    assert.equal(
      roleOfSigned({ keys: [others[0]!, TOKEN] }, {}, (sent) => sent.replaceAll(',s=', ',S=')),
      'read',
    );
    assert.equal(
      roleOfSigned({}, {}, (sent) => sent.replace('Ubiring', 'uBIRING')),
      'read',
    );
    for (const minutes of [5, -5]) assert.equal(roleOfSigned({ minutes }), 'read');
    for (const host of ['[fd00::5]:9100', 'crawler.example.org:9100']) {
      assert.equal(roleOfSigned({ host }), 'read', host);
    }
    for (const host of ['10.0.0.5', '[fd00::5]', 'crawler.example.org']) {
      assert.equal(roleOfSigned({ host }, { localPort: 80 }), 'read', host);
    }
  });

  it('a captured request is good for no other path, query, host, time or method', () => {
    const unknown = refused('signature-unknown', 401);
    for (const target of ['/api/v1/hosts?limit=8', '/api/v1/hosts', '/api/v1/HOSTS?limit=7']) {
      assert.throws(() => roleOfSigned({}, { target }), unknown, target);
    }
    for (const host of ['10.0.0.6:9100', '10.0.0.5.evil.test:9100']) {
      assert.throws(() => roleOfSigned({}, { headers: { host } }), unknown, host);
    }
    const later = (sent: string) => sent.replace(/t=\d+/, `t=${NOW / 1000}`);
    assert.throws(() => roleOfSigned({ minutes: 6 }, {}, later), unknown);
    for (const method of ['HEAD', 'POST', 'DELETE']) {
      const other = refused('signature-method', 401);
      assert.throws(() => roleOfSigned({}, { method }), other, method);
      assert.throws(() => roleOfSigned({ method }), other, method);
    }
  });

  it('a server at another port refuses a request that was sent to the signed one', () => {
    const wrong = refused('signature-port', 401);
    assert.throws(() => roleOfSigned({}, { localPort: 9101 }), wrong);
    assert.throws(() => roleOfSigned({}, { localPort: undefined }), wrong);
    for (const host of ['10.0.0.5', '[fd00::5]', 'fd00::5:9100', ':9100', '10.0.0.5:x', '']) {
      assert.throws(() => roleOfSigned({ host }), wrong, host);
    }
  });

  it('a request of another time is refused with the difference of the clocks', () => {
    for (const [minutes, detail] of [
      [6, /machine that asks is 360 s behind that of the machine asked$/],
      [-6, /machine that asks is 360 s ahead of that of the machine asked$/],
    ] as const) {
      assert.throws(
        () => roleOfSigned({ minutes }),
        ({ document }: HttpProblem) => {
          assert.deepEqual([document.status, document.code], [401, 'signature-time']);
          assert.match(document.detail, detail);
          assert.equal(document.remedy, 'set the clocks of both machines');
          return true;
        },
      );
    }
  });

  it('another token and a malformed header give nothing, also on this machine', () => {
    for (const remoteAddress of [AWAY, LOCAL]) {
      for (const keys of [[`${TOKEN}x`], ['x'.repeat(16), 'y'.repeat(16)]]) {
        const unknown = refused('signature-unknown', 401);
        assert.throws(() => roleOfSigned({ keys }, { remoteAddress }), unknown, keys[0]);
      }
      const headers: readonly (readonly [RegExp | string, string])[] = [
        ['Ubiring', 'Bearer'],
        ['Ubiring ', 'Ubiring'],
        [/.$/, ''],
        [/$/, 'A'],
        [/.$/, '='],
        [/t=\d+,/, ''],
        ['t=', 't=-'],
        [/t=\d+/, 't=1e9'],
        [/,s=.*/, ''],
        [/$/, `,s=${'A'.repeat(42)}`],
        [/$/, `,s=${'A'.repeat(43)}`.repeat(100)],
        [/ .*/, ` ${TOKEN}`],
      ];
      for (const [part, other] of headers) {
        assert.throws(
          () => roleOfSigned({}, { remoteAddress }, (sent) => sent.replace(part, other)),
          refused('token-unknown', 401),
          `${part} ${other}`,
        );
      }
    }
  });

  it('without tokens here, the remedy is to add that of the agent that asks', () => {
    const asker = asking({
      headers: { host: HOST, authorization: `Ubiring t=1,s=${'A'.repeat(43)}` },
    });
    assert.throws(
      () => roleOf(asker, Tokens.none, NOW),
      ({ document: { remedy } }: HttpProblem) =>
        /monitor\.tokens or MONITOR_TOKENS have the same line "read TOKEN" on both machines, and start/.test(
          remedy,
        ),
    );
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
  assert.throws(() => roleOf(asking({ remoteAddress: AWAY }), Tokens.none, NOW), saysHow);
});
