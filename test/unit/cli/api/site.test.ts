// Answers that clients do not read, and the end of the server.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { Services } from '../../../../agent/cli/api/services.ts';
import { Site } from '../../../../agent/cli/api/site.ts';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { Tokens } from '../../../../agent/cli/http/tokens.ts';
import { viewColumns } from '../../../../agent/cli/state-files/query-views.ts';

/** More than the buffers of a connection hold. */
const BYTES = 64 * 1024 ** 2;
const PART = Buffer.alloc(64 * 1024);

/** Of seeds. */
const REFUSALS: Readonly<Record<string, string>> = {
  x: 'not a URL; write it whole',
  y: 'not a URL; write it whole',
  z: 'out of scope; extend include',
};

function* parts() {
  for (let bytes = 0; bytes < BYTES; bytes += PART.length) yield PART;
}

async function served(t: TestContext): Promise<Server> {
  const services = {
    stateOf: () => 'state.sqlite',
    queries: {
      query: async () => Buffer.alloc(BYTES),
      extract: async () => Readable.from(parts()),
    },
    lists: { eventSources: async () => [] },
    states: [{ event: 'cluster', ask: async () => ({ key: {}, json: () => Buffer.alloc(BYTES) }) }],
    run: async ({ args }: { readonly args: readonly string[] }) => {
      return Object.fromEntries(args.map((url) => [url, { refused: REFUSALS[url] }]));
    },
  } as unknown as Services;
  const site = new Site({
    ...{ services, tokens: Tokens.none, assets: new Map(), version: '1', unreadMsMax: 500 },
    onError: () => {},
  });
  const server = createServer((request, response) => void site.serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

const HEAD = 'HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
const SQL = '{"sql":"SELECT 1"}';
const REQUESTS = {
  query: `POST /api/v1/query ${HEAD}Content-Length: ${SQL.length}\r\n\r\n${SQL}`,
  extract: `GET /api/v1/agents/a1/state?views=pages ${HEAD}\r\n`,
  events: `GET /api/v1/events?state=true ${HEAD}\r\n`,
} as const;

for (const [what, request] of Object.entries(REQUESTS)) {
  const limit = { timeout: 20_000 };
  test(
    `a client that does not read the answer to its ${what} is disconnected`,
    limit,
    async (t) => {
      const server = await served(t);
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      client.pause().on('error', () => {});
      t.after(() => client.destroy());
      client.write(request);
      const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
      await once(response, 'close');
      assert.deepEqual([response.statusCode, response.writableFinished], [200, false]);
    },
  );
}

test('a site that is closed ends the process of the lists', async () => {
  const config = { file: 'crawl.yaml', agent: { dataDir: '/no-such-directory' }, cluster: {} };
  const services = new Services(config as unknown as ResolvedConfig, []);
  const parts = { tokens: Tokens.none, assets: new Map(), version: '1', onError: () => {} };
  new Site({ services, ...parts }).close();
  const client = { address: 'a', signal: new AbortController().signal };
  await assert.rejects(services.circle(0, client), /the server has been closed/);
});

test('the state of an agent is elsewhere only if there is such an agent', async (t) => {
  const config = { file: 'crawl.yaml', agent: { dataDir: '/no-such-directory' }, cluster: {} };
  const services = new Services(config as unknown as ResolvedConfig, []);
  t.after(() => services.close());
  const view = { agents: [], unreachable: ['a2'] };
  t.mock.method(services.watch, 'now', async () => ({ view }));
  const client = { address: 'a', signal: new AbortController().signal };
  const isProblem = (code: string) => (error: unknown) =>
    error instanceof HttpProblem && error.document.status === 404 && error.document.code === code;
  for (const [id, code] of [
    ['a2', 'state-elsewhere'],
    ['a9', 'agent-unknown'],
  ] as const) {
    await assert.rejects(async () => services.stateOf(id), isProblem(code));
    await assert.rejects(async () => services.events(id, null, client), isProblem(code));
  }
});

test('the stream of states is compressed only for a client that accepts it', async (t) => {
  const { port } = (await served(t)).address() as AddressInfo;
  for (const [accepted, encoding] of [
    ['gzip', 'gzip'],
    ['br, GZIP;q=0.5', 'gzip'],
    ['gzip;q=0', null],
    ['identity', null],
  ] as const) {
    const end = new AbortController();
    const { headers } = await fetch(`http://127.0.0.1:${port}/api/v1/events?state=true`, {
      headers: { 'accept-encoding': accepted },
      signal: end.signal,
    });
    assert.equal(headers.get('content-encoding'), encoding, accepted);
    end.abort();
  }
});

test('a path that exists refuses a wrong method with those that it accepts', async (t) => {
  const { port } = (await served(t)).address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const asked = async (path: string, method: string) => {
    const answer = await fetch(`${origin}${path}`, { method, headers: { origin } });
    return [answer.status, answer.headers.get('allow')];
  };
  const paths = ['/metrics', '/api/v1/events', '/api/v1/openapi.json', '/healthz', '/readyz'];
  for (const path of paths) {
    for (const method of ['POST', 'DELETE'])
      assert.deepEqual(await asked(path, method), [405, 'GET'], `${method} ${path}`);
  }
  assert.deepEqual(await asked('/api/v1/events', 'HEAD'), [405, 'GET']);
  assert.deepEqual(await asked('/healthz', 'HEAD'), [200, null]);
  assert.deepEqual(await asked('/api/v1/nothing', 'POST'), [404, null]);
});

test('a request with unknown or repeated query keys is refused by each path', async (t) => {
  const { port } = (await served(t)).address() as AddressInfo;
  const wrong = {
    '/cluster?colour=red': /colour.*known: none/,
    '/agents?id=a1': /id.*known: none/,
    '/events?from=7': /from.*known: after/,
    '/hosts?limit=1&limit=2': /limit is given more than once/,
    '/agents/a1/moves?capacity=': /capacity has no value/,
    '/openapi.json?x=1': /x.*known: none/,
  };
  for (const [path, detail] of Object.entries(wrong)) {
    const problem = await refused(port, path);
    assert.equal(problem.code, 'query-invalid', path);
    assert.match(problem.detail, detail);
  }
});

test('a request with an invalid value is refused with the field, the value and what is expected', async (t) => {
  const { port } = (await served(t)).address() as AddressInfo;
  for (const [path, detail] of Object.entries({
    '/circle?at=foo': 'at: "foo"; expected a number',
    '/circle?at=1.5': 'at: "1.5"; expected a whole number',
    '/circle?at=-1': 'at: "-1"; expected at least 0',
    '/hosts?limit=1001': 'limit: "1001"; expected at most 1000',
    '/hosts?scope=all': 'scope: "all"; expected one of "cluster"|"machine"',
    '/agents/a1/state?views=x': `views: "x"; expected one of "${Object.keys(viewColumns).join('"|"')}"`,
    '/pages': 'host: missing; expected a text',
    '/agents/a1/moves?capacity=x': 'capacity: "x"; expected "default" or a number',
    [`/hosts?search=${'x'.repeat(301)}`]: `search: "${'x'.repeat(98)}…; expected at most 300 characters`,
  })) {
    const problem = await refused(port, path);
    assert.deepEqual([problem.code, problem.detail], ['query-invalid', detail]);
    assert.equal(problem.remedy, 'GET /api/v1/openapi.json describes every request');
  }
  const kinds = 'pause|resume|block|unblock|undelay|delay|drain|undrain|capacity|threads';
  const kind = `expected one of "${kinds.replaceAll('|', '"|"')}"`;
  for (const [body, detail] of [
    [[], 'the body: []; expected an object'],
    [{}, `kind: missing; ${kind}`],
    [{ kind: 'stop' }, `kind: "stop"; ${kind}`],
    [{ kind: 'drain' }, 'agent: missing; expected a text'],
    [
      { kind: 'drain', agent: '', x: 1 },
      'agent: ""; expected at least 1 character; the body: unknown "x"; known: kind, agent',
    ],
    [{ kind: 'resume', x: 1 }, 'the body: unknown "x"; known: kind'],
    [{ kind: 'capacity', agent: 'a1', value: 0 }, 'value: 0; expected more than 0'],
    [{ kind: 'threads', agent: 'a1' }, 'value: missing; expected a number or "default"'],
  ] as const) {
    const problem = await refused(port, '/directives', body);
    assert.deepEqual([problem.code, problem.detail], ['body-invalid', detail]);
  }
  const { detail } = await refused(port, '/seeds', { urls: [] });
  assert.equal(detail, 'urls: []; expected at least 1 entry');
});

test('refused seeds share a remedy, or each has its own', async (t) => {
  const { port } = (await served(t)).address() as AddressInfo;
  const same = await refused(port, '/seeds', { urls: ['x', 'y'] });
  assert.equal(same.code, 'seeds-refused');
  assert.equal(same.detail, '"x": not a URL; "y": not a URL');
  assert.equal(same.remedy, 'write it whole');
  const { detail, remedy } = await refused(port, '/seeds', { urls: ['x', 'z'] });
  assert.equal(detail, '"x": not a URL (write it whole); "z": out of scope (extend include)');
  assert.equal(remedy, 'GET /api/v1/explain?url=URL names the rule');
});

type Refused = { readonly code: string; readonly detail: string; readonly remedy: string };

async function refused(port: number, path: string, body?: unknown): Promise<Refused> {
  const origin = `http://127.0.0.1:${port}`;
  const headers = { origin, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  const answer = await fetch(`${origin}/api/v1${path}`, sent);
  assert.equal(answer.status, 400, path);
  return (await answer.json()) as Refused;
}
