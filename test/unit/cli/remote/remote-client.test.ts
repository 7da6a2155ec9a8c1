// Requests to servers of other machines that may be wrong in any way.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type TestContext, test } from 'node:test';
import { roleOf } from '../../../../agent/cli/api/http-access.ts';
import { Refusal } from '../../../../agent/cli/common/exit-code.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { Tokens } from '../../../../agent/cli/http/tokens.ts';
import { RemoteClient, RemoteError } from '../../../../agent/cli/remote/remote-client.ts';
import { wallMs } from '../../../../agent/runtime/clock.ts';

const TOKEN = 'secret-secret-42';
const keysOf = (...tokens: readonly string[]) =>
  (Tokens.parse(tokens.map((token) => `steer ${token}`).join('\n')) as Tokens).keys;

async function serving(t: TestContext, listener: RequestListener, host = '127.0.0.1') {
  const server = createServer(listener);
  server.listen(0, host);
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { id: 'a7', origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}` };
}

/** At a server that knows the token, and whose clock is ahead by so many milliseconds. */
function roleFor({ method = '', url = '', headers, socket }: IncomingMessage, ahead = 0) {
  const { remoteAddress, localPort } = socket;
  const asker = { method, target: url, headers, remoteAddress, localPort };
  return roleOf(asker, Tokens.parse(`admin ${TOKEN}`) as Tokens, wallMs() + ahead);
}

test('the answer is JSON', async (t) => {
  const seen: unknown[] = [];
  const agent = await serving(t, ({ url, headers }, response) => {
    seen.push([url, headers.authorization]);
    response.end('{"ok":"é"}');
  });
  const request = { path: '/x', query: { after: 3, agent: undefined } };
  assert.deepEqual(await new RemoteClient([]).json(agent, request), { ok: 'é' });
  assert.deepEqual(seen, [['/api/v1/x?after=3', undefined]]);
});

test('requests are signed as they are sent, and do not carry the token', async (t) => {
  const sent: string[] = [];
  const listener: RequestListener = (request, response) => {
    sent.push(`${request.url} ${request.rawHeaders.join(' ')}`);
    response.end(JSON.stringify(roleFor(request)));
  };
  const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === '::1'),
  );
  const agents = await Promise.all(
    ['127.0.0.1', ...(hasIPv6 ? ['::1'] : [])].map((host) => serving(t, listener, host)),
  );
  const client = new RemoteClient(keysOf(TOKEN));
  const requests = [
    { path: '/hosts' },
    { path: '/agents/ä 7/state', query: { sql: `é %2F+&='"|\\^[]{}~#?`, after: 3 } },
    { path: '/hosts', query: { agent: '' } },
  ];
  for (const agent of [
    ...agents,
    { ...agents[0]!, origin: agents[0]!.origin.replace('127.0.0.1', 'LOCALHOST') },
  ]) {
    for (const request of requests) assert.equal(await client.json(agent, request), 'read');
  }
  const digests = (['hex', 'base64', 'base64url'] as const).map((form) =>
    keysOf(TOKEN)[0]!.toString(form),
  );
  for (const text of sent) {
    for (const secret of [TOKEN, ...digests]) assert.ok(!text.includes(secret), text);
  }
});

test('a request that is sent again is signed again', async (t) => {
  let now = Date.now();
  t.mock.method(Date, 'now', () => now);
  const seen: string[] = [];
  const agent = await serving(t, (request, response) => {
    seen.push(`${roleFor(request)} ${request.headers.authorization}`);
    // Later than a signature is good for.
    now += 600_000;
    if (seen.length === 2) request.socket.destroy();
    else if (seen.length === 3) response.writeHead(503, { 'retry-after': '0.05' }).end('{}');
    else response.end('1');
  });
  const client = new RemoteClient(keysOf(TOKEN));
  await client.json(agent, { path: '/' });
  await client.json(agent, { path: '/' });
  assert.equal(seen.length, 4);
  assert.equal(new Set(seen).size, 4);
  for (const one of seen) assert.match(one, /^read Ubiring t=/);
});

test('an unknown token and clocks that differ are named with the remedy', async (t) => {
  const now = Date.now();
  t.mock.method(Date, 'now', () => now);
  let ahead = 0;
  const agent = await serving(t, (request, response) => {
    try {
      response.end(JSON.stringify(roleFor(request, ahead)));
    } catch (error) {
      assert.ok(error instanceof HttpProblem);
      response.writeHead(error.document.status).end(JSON.stringify(error.document));
    }
  });
  const asked = (...tokens: readonly string[]) =>
    new RemoteClient(keysOf(...tokens)).json(agent, { path: '/hosts' });
  const unknown =
    / 401: .*signed with no token that the agent knows; let monitor\.tokens or MONITOR_TOKENS have the same line "read TOKEN" on both machines, and start their agents again$/;
  await assert.rejects(asked(`${TOKEN}x`, `${TOKEN}y`), unknown);
  assert.equal(await asked(TOKEN), 'read');
  const others = Array.from({ length: 99 }, (_, k) => `other-token-${1000 + k}`);
  assert.equal(await asked(...others, TOKEN), 'read');
  ahead = 400_000;
  const clocks =
    / 401: the clock of the machine that asks is 400 s behind that of the machine asked; set the clocks of both machines$/;
  await assert.rejects(asked(TOKEN), clocks);
  ahead = 0;
  assert.equal(await asked(TOKEN), 'read');
});

test('a request ends once nobody needs its answer', { timeout: 5000 }, async (t) => {
  const gone = new AbortController();
  const closed = Promise.withResolvers<void>();
  const agent = await serving(t, (_, response) => {
    response.once('close', () => closed.resolve());
    gone.abort();
  });
  const asked = new RemoteClient([]).json(agent, { path: '/' }, 60_000, gone.signal);
  await assert.rejects(asked, RemoteError);
  await closed.promise;
});

test('what is wrong names the agent and its address', async (t) => {
  const problem = { detail: 'the token is not known', remedy: 'send another' };
  const cases: readonly (readonly [RequestListener, RegExp])[] = [
    [
      (_, r) => r.writeHead(403).end(JSON.stringify(problem)),
      /403: the token is not known; send another/,
    ],
    [(_, r) => r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), /cannot be asked/],
    [(_, r) => r.end('<html>'), /has sent no JSON/],
    [(_, r) => r.end(Buffer.alloc(33 * 1024 ** 2, 32)), /more than 32 MB/],
    [(_, r) => r.destroy(), /cannot be asked/],
    [
      (_, r) => r.writeHead(500).end(`\u001b[2J${'x'.repeat(10_000)}`),
      /has answered 500: .{1,300}$/,
    ],
  ];
  for (const [listener, expected] of cases) {
    const agent = await serving(t, listener);
    await assert.rejects(new RemoteClient([]).json(agent, { path: '/' }), (error) => {
      assert.ok(error instanceof RemoteError);
      assert.ok(error.message.startsWith(`a7: its API at ${agent.origin} `), error.message);
      assert.match(error.message, expected);
      assert.ok(!error.message.includes('\u001b'));
      return true;
    });
  }
});

test('a request on a connection that the server closes is sent again', async (t) => {
  let asked = 0;
  const agent = await serving(t, ({ socket }, response) => {
    asked++;
    if (asked === 2) socket.destroy();
    else response.end(String(asked));
  });
  const client = new RemoteClient([]);
  assert.equal(await client.json(agent, { path: '/' }), 1);
  assert.equal(await client.json(agent, { path: '/' }), 3);
});

test('a server that is busy is asked again, as long as there is time', async (t) => {
  let asked = 0;
  const busy = JSON.stringify({ detail: 'busy', remedy: 'wait' });
  const agent = await serving(t, (_, response) => {
    asked++;
    if (asked === 2) response.end('2');
    else response.writeHead(503, { 'retry-after': '0.05' }).end(busy);
  });
  const client = new RemoteClient([]);
  assert.equal(await client.json(agent, { path: '/' }), 2);
  await assert.rejects(client.json(agent, { path: '/' }, 300), /was too slow/);
  assert.ok(asked > 3);
});

test('an answer that nobody reads is no error when its time is over', async (t) => {
  const refused = Promise.withResolvers<void>();
  const agent = await serving(t, (_, response) => {
    response.writeHead(401).write('{');
    response.once('close', () => refused.resolve());
  });
  await assert.rejects(new RemoteClient([]).json(agent, { path: '/' }, 300), /needs a token/);
  const other = await serving(t, (_, response) => void response.write('bytes'));
  const limits = { msMax: 300, bytesMax: 100 };
  const lost = new RemoteClient([]).download(other, { path: '/' }, '/nonexistent/file', limits);
  await assert.rejects(lost, /cannot write in/);
  await Promise.all([refused.promise, once(AbortSignal.timeout(600), 'abort')]);
});

test('a missing token and a file that cannot be written are named with the remedy', async (t) => {
  const agent = await serving(t, (_, response) => response.writeHead(401).end('{}'));
  await assert.rejects(
    new RemoteClient([]).json(agent, { path: '/' }),
    /needs a token; let monitor\.tokens or MONITOR_TOKENS have the same line "read TOKEN"/,
  );
  await assert.rejects(
    new RemoteClient(keysOf(TOKEN)).json(agent, { path: '/' }),
    /has answered 401/,
  );

  const other = await serving(t, (_, response) => response.end('bytes'));
  const limits = { msMax: 10_000, bytesMax: 100 };
  const lost = new RemoteClient([]).download(other, { path: '/' }, '/nonexistent/file', limits);
  await assert.rejects(lost, (error) => {
    assert.ok(error instanceof Refusal && error.code === 4);
    assert.match(
      error.message,
      /^cannot write in .*ENOENT.*; name a directory with room in TMPDIR$/,
    );
    return true;
  });
});
