// The responses to HTTP requests: dashboard, API, metrics and health.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { hasLostSockets } from '../../messaging/control-client.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { monotonicMs, wallMs } from '../../runtime/clock.ts';
import { messageOf, Refusal, systemCode } from '../common/exit-code.ts';
import { causeAndRemedy, cut } from '../common/output.ts';
import { API } from '../http/api-prefix.ts';
import { HttpProblem } from '../http/http-problem.ts';
import type { HttpStatuses, HttpWork } from '../http/http-process.ts';
import { Tokens } from '../http/tokens.ts';
import { RemoteError } from '../remote/remote-client.ts';
import { EventStream } from '../views/event-stream.ts';
import { type Asset, readAssets } from './assets.ts';
import { type Asker, demand, roleOf } from './http-access.ts';
import { metricsText } from './http-metrics.ts';
import type { Client } from './list-process.ts';
import { openApi } from './openapi.ts';
import { EVENTS_QUERY, type FoundRoute, NO_QUERY, routeOf } from './routes.ts';
import { Services } from './services.ts';

/** The record of the completion is looked for so often. */
const COMPLETION_POLL_MS = 50;
const BODY_BYTES_MAX = 128 * 1024;
/** Longer than a bad network is silent. */
const UNREAD_MS_MAX = 30_000;
/** An agent that has not reported its status for so long hangs. */
const STATUS_MS_MAX = 10_000;

/** The paths of `#special`. */
const SPECIAL: readonly string[] = ['/metrics', `${API}/events`, `${API}/openapi.json`];

const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
} as const;

interface SiteParts {
  readonly services: Services;
  readonly tokens: Tokens;
  readonly assets: ReadonlyMap<string, Asset>;
  /** Of ubiring. */
  readonly version: string;
  readonly onError: (error: unknown) => void;
  /** A client that reads nothing for so long is disconnected; tests shorten it. */
  readonly unreadMsMax?: number;
}

/** Why a signal has aborted. Without a reason each would make an exception. */
const CLOSED = new Error('the answer was read, or the client has gone');

export class Site {
  readonly #p: SiteParts;
  readonly #events: EventStream;
  /** The latest status of each agent of this process, and when it came. */
  readonly #statuses = new Map<string, { readonly status: AgentStatus; readonly at: number }>();

  constructor(parts: SiteParts) {
    this.#p = parts;
    const { lists, states } = parts.services;
    this.#events = new EventStream(lists.eventSources, states);
  }

  close(): void {
    this.#p.services.close();
  }

  /** Waits until the crawl is complete, and tells those that read the state; at once if nobody does. */
  async end(): Promise<void> {
    while (this.#events.hasReaders) {
      const view = this.#p.services.watch.completed();
      if (view !== null) return this.#events.end(Buffer.from(JSON.stringify(view)));
      await wait(COMPLETION_POLL_MS);
    }
  }

  /** Why no agent can be asked until this process has ended and is started again; null: they can. */
  get failure(): string | null {
    return hasLostSockets() ? 'no sockets are left to ask agents' : null;
  }

  noteStatuses({ statuses, running }: Pick<HttpStatuses, 'statuses' | 'running'>): void {
    this.#p.services.reported.note(statuses);
    for (const id of this.#statuses.keys()) if (!running.includes(id)) this.#statuses.delete(id);
    for (const status of statuses) this.#statuses.set(status.id, { status, at: monotonicMs() });
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SAFE_HEADERS)) response.setHeader(name, value);
    try {
      await this.#route(request, response);
    } catch (error) {
      this.#fail(request, response, error);
    }
    // Answers that nobody reads would fill the memory. A stream of events does not end.
    if (response.writableEnded && !response.writableFinished) this.#endUnread(response);
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    // The client has gone before its request was complete.
    if (systemCode(error) === 'ECONNRESET') return void response.destroy();
    const problem = problemOf(error);
    if (problem.document.status === 500) this.#p.onError(error);
    if (response.headersSent) return void response.destroy();
    // The rest of a request that was not read would be taken for the next one.
    if (!request.complete) response.setHeader('connection', 'close');
    if (problem.document.status === 401) response.setHeader('www-authenticate', 'Bearer');
    if (problem.document.code.endsWith('-busy')) response.setHeader('retry-after', '1');
    if (problem.document.code === 'list-slow') response.setHeader('retry-after', '300');
    const body = JSON.stringify(problem.document);
    response.writeHead(problem.document.status, { 'content-type': 'application/problem+json' });
    response.end(`${body}\n`);
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = urlOf(request);
    const asset = this.#p.assets.get(url.pathname);
    // The dashboard has no data of the crawl, and it asks for the token.
    if (asset) return sendAsset(request, response, asset);
    // Whatever asks whether a process lives seldom has a token.
    if (url.pathname === '/healthz' || url.pathname === '/readyz') {
      demandGet(request, response);
      return url.pathname === '/healthz' ? this.#health(response) : this.#readiness(response);
    }
    const role = roleOf(askerOf(request), this.#p.tokens, wallMs());
    // So that the dashboard offers only what the client may do.
    response.setHeader('ubiring-role', role);
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET');
    const found = routeOf(method, url.pathname);
    if (found && 'route' in found) {
      demand(found.route.role, role, this.#p.tokens);
      return this.#call(found, url, request, response);
    }
    if (method === 'DELETE' && `${url.pathname}/`.startsWith(`${API}/directives/`))
      throw notDeleted(response);
    if (found) throw notAllowed(found, response);
    if (!SPECIAL.includes(url.pathname)) throw unknownPath(url.pathname);
    demandGet(request, response);
    await this.#special(url, request, response);
  }

  async #special(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    switch (url.pathname) {
      case '/metrics': {
        const known = [...this.#statuses.values()].map(({ status }) => status);
        const age = (id: string) => (monotonicMs() - this.#statuses.get(id)!.at) / 1000;
        const { type, text } = await metricsText(known, age);
        response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' });
        response.end(text);
        return;
      }
      case `${API}/events`: {
        if (request.method === 'HEAD') throw notAllowed(['GET'], response);
        const { after, state } = checked(EVENTS_QUERY, queryOf(url), 'query');
        const last = request.headers['last-event-id'] ?? after;
        const hasState = state === 'true';
        const isGzip = hasState && acceptsGzip(request);
        const id = typeof last === 'string' ? last : null;
        this.#events.add(response, id, { hasState, isGzip });
        return this.#endUnread(response);
      }
      case `${API}/openapi.json`:
        checked(NO_QUERY, queryOf(url), 'query');
        return sendJson(response, openApi(this.#p.version));
    }
  }

  async #call(
    { route, path }: FoundRoute,
    url: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const query = checked(route.query ?? NO_QUERY, queryOf(url), 'query');
    const body = route.body ? checked(route.body, await bodyOf(request), 'body') : undefined;
    const address = request.socket.remoteAddress ?? '';
    const call = { path, query, body, client: clientOf(address, response) };
    const answer = await route.handle(this.#p.services, call);
    if (answer instanceof Readable) await this.#sendBytes(response, answer, route.type);
    else if (isReady(answer)) sendText(request, response, answer);
    else sendJson(response, answer);
  }

  async #sendBytes(response: ServerResponse, bytes: Readable, type = ''): Promise<void> {
    response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' });
    this.#endUnread(response);
    await pipeline(bytes, response);
  }

  /** From the last bytes that the client has read on. */
  #endUnread(response: ServerResponse): void {
    const { unreadMsMax = UNREAD_MS_MAX } = this.#p;
    response.setTimeout(unreadMsMax, () => response.destroy());
  }

  #health(response: ServerResponse): void {
    const silent = [...this.#statuses].filter(([, { at }]) => monotonicMs() - at > STATUS_MS_MAX);
    const ids = silent.map(([id]) => id);
    response.writeHead(ids.length > 0 ? 503 : 200, { 'content-type': 'text/plain' });
    response.end(ids.length > 0 ? `no report from ${ids.join(', ')}\n` : 'ok\n');
  }

  #readiness(response: ServerResponse): void {
    const known = [...this.#statuses.values()];
    const waiting = known.filter(
      ({ status, at }) => !status.joined || monotonicMs() - at > STATUS_MS_MAX,
    );
    const isReady = known.length > 0 && waiting.length === 0;
    const ids = waiting.map(({ status }) => status.id).join(', ');
    response.writeHead(isReady ? 200 : 503, { 'content-type': 'text/plain' });
    response.end(isReady ? 'ok\n' : `not joined: ${ids || 'no agent has reported yet'}\n`);
  }
}

/** Its signal is made when it is first read: most requests need none. */
function clientOf(address: string, response: ServerResponse): Client {
  let gone: AbortController | null = null;
  return {
    address,
    get signal() {
      if (gone) return gone.signal;
      gone = new AbortController();
      if (response.closed) gone.abort(CLOSED);
      else response.once('close', () => gone!.abort(CLOSED));
      return gone.signal;
    },
  };
}

function askerOf({ method = '', url = '', headers, socket }: IncomingMessage): Asker {
  const { remoteAddress, localPort } = socket;
  return { method, target: url, headers, remoteAddress, localPort };
}

function urlOf({ url = '/' }: IncomingMessage): URL {
  // Requests to proxies have absolute URLs, which this server does not serve.
  const parsed = url.startsWith('/') ? URL.parse(`http://localhost${url}`) : null;
  if (parsed) return parsed;
  throw new HttpProblem(400, 'target-invalid', 'the request target is not a path', 'send a path');
}

function queryOf({ searchParams }: URL): Record<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of searchParams) {
    if (value !== '' && !found.has(key)) found.set(key, value);
    else {
      const why = value === '' ? 'has no value' : 'is given more than once';
      throw new HttpProblem(
        400,
        'query-invalid',
        `${key} ${why}`,
        `give ${key} one value, or none`,
      );
    }
  }
  return Object.fromEntries(found);
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  // A page of another site cannot send this type without asking this server first.
  if (!/^application\/json\b/i.test(type)) {
    const remedy = 'send "Content-Type: application/json"';
    throw new HttpProblem(
      415,
      'type-unsupported',
      `the body has the type ${JSON.stringify(type)}`,
      remedy,
    );
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) {
      const detail = `the body has more than ${BODY_BYTES_MAX} bytes`;
      throw new HttpProblem(413, 'body-too-large', detail, 'divide it among several requests');
    }
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch (error) {
    throw new HttpProblem(
      400,
      'body-invalid',
      `the body is not JSON: ${messageOf(error)}`,
      'send JSON',
    );
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown, what: 'query' | 'body'): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const remedy = `GET ${API}/openapi.json describes every request`;
  const whys = parsed.error.issues.map((issue) => {
    const { path, text } = givenAt(value, issue.path);
    const at = path || `the ${what}`;
    if (issue.code === 'unrecognized_keys') {
      return `${at}: ${unknownText(issue.keys, schema, value)}`;
    }
    return `${at}: ${text}; expected ${expectedText(issue)}`;
  });
  throw new HttpProblem(400, `${what}-invalid`, whys.join('; '), remedy);
}

function unknownText(keys: readonly string[], schema: z.ZodType, value: unknown): string {
  const one = schema instanceof z.ZodDiscriminatedUnion ? chosenOption(schema, value) : schema;
  const known = one instanceof z.ZodObject ? Object.keys(one.shape) : null;
  const names = keys.map((key) => JSON.stringify(key)).join(', ');
  return `unknown ${names}${known ? `; known: ${known.join(', ') || 'none'}` : ''}`;
}

/** The schema of a union that the value names, as all of its other keys are unknown to it. */
function chosenOption({ options, def }: z.ZodDiscriminatedUnion, value: unknown): unknown {
  const name = (value as Readonly<Record<string, unknown>>)[def.discriminator];
  return options.find((option) => {
    const { shape } = option as z.ZodObject;
    return (shape[def.discriminator] as z.ZodType).safeParse(name).success;
  });
}

/** Characters of a value that a problem shows. */
const SHOWN_MAX = 100;

/** What the request has there. A text that a schema divides is shown, and named, as a whole. */
function givenAt(value: unknown, path: readonly PropertyKey[]) {
  let given = value;
  const steps: PropertyKey[] = [];
  for (const step of path) {
    if (typeof given !== 'object' || given === null) break;
    given = (given as Readonly<Record<PropertyKey, unknown>>)[step];
    steps.push(step);
  }
  const text = given === undefined ? 'missing' : cut(JSON.stringify(given), SHOWN_MAX);
  return { path: steps.join('.'), text };
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  ...{ string: 'a text', number: 'a number', int: 'a whole number', array: 'a list' },
  ...{ object: 'an object', record: 'an object' },
};

/** The message of zod does not say what would be valid, or says it in terms of JavaScript. */
function expectedText(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_NAMES[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return oneOf(issue.values);
    case 'too_small':
      return `${issue.inclusive ? 'at least' : 'more than'} ${sizeText(issue.minimum, issue.origin)}`;
    case 'too_big':
      return `at most ${sizeText(issue.maximum, issue.origin)}`;
    case 'invalid_union': {
      const { options = [] } = issue as { readonly options?: readonly unknown[] };
      if (options.length > 0) return oneOf(options);
      return [...new Set(issue.errors.flat().map(expectedText))].join(' or ');
    }
    default:
      return issue.message;
  }
}

function sizeText(size: number | bigint, origin: string): string {
  if (origin === 'string') return `${size} ${size === 1 ? 'character' : 'characters'}`;
  if (origin === 'array') return `${size} ${size === 1 ? 'entry' : 'entries'}`;
  return String(size);
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map((value) => JSON.stringify(value)).join('|');
  return values.length > 1 ? `one of ${texts}` : texts;
}

function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof RemoteError) {
    const remedy = 'open the dashboard of that agent';
    return new HttpProblem(502, 'agent-elsewhere', error.message, remedy);
  }
  if (error instanceof Refusal) {
    const { cause, remedy } = causeAndRemedy([error.message]);
    return new HttpProblem(503, 'refused', cause, remedy || 'ubiring status shows the cluster');
  }
  const remedy = 'the log of the agent has the cause; please report it';
  return new HttpProblem(500, 'unexpected', messageOf(error), remedy);
}

function notAllowed(methods: readonly string[], response: ServerResponse): HttpProblem {
  response.setHeader('allow', methods.join(', '));
  const detail = `this path accepts ${methods.join(', ')}`;
  return new HttpProblem(405, 'method-not-allowed', detail, `send ${methods.join(' or ')}`);
}

function demandGet(request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw notAllowed(['GET'], response);
}

function notDeleted(response: ServerResponse): HttpProblem {
  response.setHeader('allow', 'GET, POST');
  const remedy =
    `withdraw it: POST ${API}/directives with the kind resume, unblock, undelay or undrain, or with ` +
    'the value "default" for capacity and threads';
  return new HttpProblem(405, 'method-not-allowed', 'a directive is not deleted', remedy);
}

function unknownPath(pathname: string): HttpProblem {
  const detail = `nothing is at ${JSON.stringify(pathname.slice(0, 200))}`;
  return new HttpProblem(404, 'path-unknown', detail, `GET ${API}/openapi.json lists the paths`);
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  const given = String(headers['accept-encoding'] ?? '');
  const found = /\bgzip\s*(?:;\s*q=([\d.]+))?/i.exec(given);
  return found !== null && Number(found[1] ?? 1) > 0;
}

function isReady(answer: unknown): answer is Asset {
  return typeof answer === 'object' && answer !== null && 'gzipped' in answer;
}

function sendJson(response: ServerResponse, value: unknown): void {
  const body = Buffer.isBuffer(value) ? value : `${JSON.stringify(value)}\n`;
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(body);
}

function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
  demandGet(request, response);
  sendText(request, response, asset);
}

function sendText(request: IncomingMessage, response: ServerResponse, text: Asset): void {
  const { type, body, gzipped, tag } = text;
  const isGzip = acceptsGzip(request);
  const headers = {
    'content-type': type,
    etag: tag,
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
  };
  if (request.headers['if-none-match'] === tag) {
    response.writeHead(304, headers);
    response.end();
    return;
  }
  const sent = isGzip ? gzipped : body;
  const encoding = isGzip ? { 'content-encoding': 'gzip' } : {};
  response.writeHead(200, { ...headers, ...encoding, 'content-length': sent.length });
  response.end(request.method === 'HEAD' ? undefined : sent);
}

/** @param tokens - lines with roles and tokens, which have been checked */
export function siteOf({
  config,
  tokens,
  version,
  onError,
}: Pick<HttpWork, 'config' | 'tokens' | 'version'> & Pick<SiteParts, 'onError'>): Site {
  const known = Tokens.parse(tokens);
  if (typeof known === 'string') throw new Error(known);
  const services = new Services(config, known.keys);
  return new Site({ services, tokens: known, assets: readAssets(), version, onError });
}
