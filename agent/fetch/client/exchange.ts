/**
 * One fetch from call to result: address check, connection, fetch right, request, header, body. An
 * exchange enforces three timeouts. The total timeout pauses only for memory; an idle timeout would
 * never end a dripping body. An exchange settles once; it then closes what it opened and ignores
 * later events.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { addressKey } from '../address/address-choice.ts';
import type { AddressGuard } from '../address/address-guard.ts';
import { bodyCap } from '../body/body-cap.ts';
import { BodyPieces } from '../body/body-pieces.ts';
import { type BodyEnd, type BodyMemory, BodyReader } from '../body/body-reader.ts';
import type {
  BodyStream,
  Call,
  CallEvents,
  ConnectionVerdict,
  ResponseHead,
} from '../connection/call.ts';
import { failureCode } from '../connection/failure-code.ts';
import { type CallParts, HttpCall } from '../connection/http-call.ts';
import { BODILESS, readContentType, readLocation } from '../connection/response-headers.ts';
import type { FetchFailureCode, FetchRequest, FetchResult, RawExchange } from '../fetch.ts';
import type { ContentTypes } from './content-types.ts';
import type { CookieJar } from './cookie-jar.ts';
import { parseRetryAfter } from './retry-after.ts';

export interface FetchTimeouts {
  /** From the call to a usable connection: DNS, TCP and TLS together. */
  readonly connectMs: number;
  /** From writing the request to the end of the response header. */
  readonly responseMs: number;
  /** From the call to the last byte of the body, without the time spent waiting for memory. */
  readonly totalMs: number;
}

/** Shared by all exchanges of a fetcher. */
export interface ExchangeContext extends CallParts {
  /** Sent with every request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decides which pages are read; null: all are. */
  readonly contentTypes: ContentTypes | null;
  /** Null: cookies are neither kept nor sent. */
  readonly cookies: CookieJar | null;
  readonly guard: AddressGuard;
  readonly timeouts: FetchTimeouts;
  /** Whether results include the exchange as sent and received. */
  readonly keepRaw: boolean;
  /** Monotonic epoch milliseconds. */
  readonly now: () => number;
  /** Unix milliseconds, for dates in headers. */
  readonly wallNow: () => number;
}

/** Failures that say nothing about the connection: the caller caused them. */
const OF_CALLER: ReadonlySet<FetchFailureCode> = new Set(['aborted', 'no_right']);

/**
 * After these statuses the request should be repeated on another connection (RFC 9110, sections
 * 15.5.9 and 15.5.20). This connection is closed at once, without reading the body.
 */
const OTHER_CONNECTION: ReadonlySet<number> = new Set([408, 421]);

/** Lower numbers, such as 099, have no meaning (RFC 9110, section 15). 600 to 999 count as 5xx. */
const STATUS_MIN = 100;

const ROBOTS_HEADERS = { accept: 'text/plain,text/*;q=0.8,*/*;q=0.5' };

export class Exchange implements CallEvents {
  readonly #request: FetchRequest;
  readonly #context: ExchangeContext;
  readonly #startedAt: number;
  /** Ends the exchange with code `aborted`. */
  readonly abort = () => this.#fail('aborted', 'aborted by the caller');
  #resolve: (result: FetchResult) => void = () => {};
  #settled = false;
  #url: URL | null = null;
  #call: Call | null = null;
  #head: ResponseHead | null = null;
  #skipped: 'type' | null = null;
  /** Body as received, for the archive; empty unless `keepRaw` is set. */
  readonly #received = new BodyPieces();
  #reader: BodyReader | null = null;
  #phaseTimer: NodeJS.Timeout | undefined;
  #totalTimer: NodeJS.Timeout | undefined;
  /** Start of the total time. Each wait for memory moves it forward. */
  #totalFrom: number;
  /** Start of the current wait for memory; null: the body does not wait. */
  #waitsSince: number | null = null;
  /** Time spent waiting for memory before the last byte arrived. */
  #waitedMs = 0;
  #wrote = false;
  #ip: string | null = null;
  #reset = false;
  #lastByteAt: number | null = null;

  constructor(request: FetchRequest, context: ExchangeContext) {
    this.#request = request;
    this.#context = context;
    this.#startedAt = context.now();
    this.#totalFrom = this.#startedAt;
  }

  /** Runs to the result. Call once. Never rejects. */
  run(): Promise<FetchResult> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      try {
        this.#start();
      } catch (error) {
        this.#fail('unexpected', String(error));
      }
    });
  }

  #start(): void {
    const { url: text, signal } = this.#request;
    const url = URL.parse(text);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      this.#fail('unexpected', 'not an http or https URL');
      return;
    }
    const { guard } = this.#context;
    const reason = guard.checkUrl(url);
    if (reason !== null) {
      this.#fail('blocked_address', `${url.host}: ${reason}`);
      return;
    }
    if (signal.aborted) {
      this.abort();
      return;
    }
    signal.addEventListener('abort', this.abort, { once: true });
    this.#startTotal();
    this.#startPhase('connect_timeout', this.#context.timeouts.connectMs);
    url.username = '';
    url.password = '';
    this.#send(url);
  }

  #send(url: URL): void {
    const { headers: common, cookies } = this.#context;
    const { kind, headers: own } = this.#request;
    const cookie = cookies?.headerFor(url, this.#context.now()) ?? null;
    const headers = {
      ...common,
      ...(kind === 'robots' ? ROBOTS_HEADERS : {}),
      ...(cookie === null ? {} : { cookie }),
      ...own,
    };
    this.#url = url;
    const { address = null } = this.#request;
    const call = new HttpCall({ url, headers, address }, this, this.#context);
    this.#call = call;
    // The constructor of the call may already have settled this exchange.
    if (this.#settled) call.destroy('sound');
  }

  onReady(ip: string | null): boolean {
    this.#ip = ip;
    if (this.#settled) return false;
    const { address } = this.#request;
    if (address !== undefined && ip !== null && addressKey(ip) !== address) {
      const allowed = address === null ? 'no address is allowed' : `only ${address} is allowed`;
      this.#fail('no_right', `connected to ${ip}; ${allowed}`);
      return false;
    }
    if (!this.#request.mayWrite()) {
      this.#fail('no_right', 'the fetch right was lost while connecting');
      return false;
    }
    this.#wrote = true;
    this.#startPhase('response_timeout', this.#context.timeouts.responseMs);
    return true;
  }

  onRepeat(): void {
    this.#startPhase('connect_timeout', this.#context.timeouts.connectMs);
  }

  onReset(): void {
    this.#reset = true;
  }

  onHead(head: ResponseHead, body: BodyStream): void {
    if (this.#settled) return;
    clearTimeout(this.#phaseTimer);
    this.#head = head;
    const { status, headers } = head;
    if (status < STATUS_MIN) return this.#fail('http_syntax', `status ${status}`);
    const { contentTypes, cookies, wallNow, now } = this.#context;
    cookies?.take(this.#url!, headers['set-cookie'] ?? [], { now: now(), wallNow: wallNow() });
    if (BODILESS.has(status)) {
      body.resume();
      this.#succeed(null, 'keep');
      return;
    }
    if (OTHER_CONNECTION.has(status)) {
      this.#succeed('length', 'doubtful');
      return;
    }
    const { kind, bodyBytesMax } = this.#request;
    const type = readContentType(headers['content-type']);
    if (kind === 'page' && status < 300 && type !== null && contentTypes?.accepts(type) === false) {
      this.#skipped = 'type';
      this.#succeed('length', 'sound');
      return;
    }
    const cap = bodyCap(kind, status, type, bodyBytesMax);
    const memory = this.#memoryFor(bytesAwaited(headers, cap));
    const onEnd = (end: BodyEnd) => this.#onBodyEnd(end);
    this.#read(body, new BodyReader(headers['content-encoding'], cap, body, onEnd, memory));
  }

  /** The total time does not run while this agent makes the server wait. */
  #memoryFor(bytesMax: number): BodyMemory {
    const startedAt = this.#context.now();
    const onTooSlow = () =>
      this.#breakOff('total_timeout', 'too slow while others wait for memory');
    const reserve = (bytes: number, onGranted: () => void) => {
      const { account } = this.#request;
      const go = () => {
        if (this.#settled) return;
        this.#endWait();
        this.#startTotal();
        onGranted();
      };
      const holder = { bytesMax, startedAt, onGranted: go, onTooSlow };
      if (account?.reserve(bytes, holder) ?? true) return true;
      this.#waitsSince = this.#context.now();
      clearTimeout(this.#totalTimer);
      return false;
    };
    return { reserve, keepsWire: this.#context.keepRaw };
  }

  #endWait(): void {
    const since = this.#waitsSince;
    if (since === null) return;
    const now = this.#context.now();
    this.#waitsSince = null;
    this.#totalFrom += now - since;
    this.#waitedMs += Math.max((this.#lastByteAt ?? now) - since, 0);
  }

  #startTotal(): void {
    const { totalMs } = this.#context.timeouts;
    const leftMs = this.#totalFrom + totalMs - this.#context.now();
    this.#totalTimer = setTimeout(() => this.#breakOff('total_timeout', `${totalMs} ms`), leftMs);
  }

  #read(body: BodyStream, reader: BodyReader): void {
    this.#reader = reader;
    body.on('data', (chunk: Uint8Array) => {
      if (this.#context.keepRaw && !this.#settled) this.#received.push(chunk);
      reader.push(chunk);
    });
    body.once('end', () => {
      if (this.#settled) return;
      this.#lastByteAt = this.#context.now();
      // A body that ends with the connection looks complete even after a reset.
      if (this.#reset) this.#breakOff('reset', 'connection reset within the body');
      else reader.finish();
    });
  }

  #onBodyEnd(end: BodyEnd): void {
    if (end.kind === 'whole') this.#succeed(null, 'keep');
    else if (end.kind === 'cut') this.#succeed('length', 'sound');
    else this.#breakOff(end.code, end.message);
  }

  onFailure(error: Error): void {
    const where = this.#head === null ? 'request' : 'body';
    const code = failureCode(error, where);
    this.#breakOff(code === 'truncated_body' && this.#reset ? 'reset' : code, error.message);
  }

  /**
   * Ends the exchange on a failure. A response with a status of 300 or above is kept, because a
   * redirect, a 404 or a Retry-After is useful without its body. Below 300 the fetch fails, because
   * a page must be complete.
   */
  #breakOff(code: FetchFailureCode, message: string): void {
    const status = this.#head?.status ?? 0;
    if (status < 300) this.#fail(code, message);
    else this.#succeed(code === 'total_timeout' ? 'time' : 'disconnect', 'doubtful');
  }

  #startPhase(code: 'connect_timeout' | 'response_timeout', phaseMs: number): void {
    clearTimeout(this.#phaseTimer);
    this.#phaseTimer = setTimeout(() => this.#fail(code, `${phaseMs} ms`), phaseMs);
  }

  #succeed(truncated: RawExchange['truncated'], connection: 'keep' | ConnectionVerdict): void {
    const head = this.#head!;
    if (!this.#settle(connection)) return;
    const { status, headers } = head;
    const location = readLocation(status, headers.location);
    const response = {
      kind: 'response' as const,
      status,
      headers,
      contentType: readContentType(headers['content-type']),
      bytes: this.#reader?.received ?? 0,
      truncated: truncated !== null,
      skipped: this.#skipped,
      location,
      ...(location !== null && this.#hasCookies(location) && { bringsCookies: true as const }),
      retryAfterMs: status < 300 ? null : parseRetryAfter(headers, this.#context.wallNow()),
      raw: this.#context.keepRaw ? this.#raw(head, truncated) : null,
      ...this.#timing(),
    };
    const resolve = this.#resolve;
    const body = this.#reader?.take() ?? Promise.resolve(new Uint8Array(0));
    this.#release();
    void body.then((body) => resolve({ ...response, body }));
  }

  #hasCookies(location: string): boolean {
    const { cookies, now } = this.#context;
    const target = cookies && URL.parse(location, this.#url!.href);
    return target !== null && cookies!.headerFor(target, now()) !== null;
  }

  #raw(head: ResponseHead, truncated: RawExchange['truncated']): RawExchange {
    const url = new URL(this.#request.url);
    for (const part of ['hash', 'username', 'password'] as const) url[part] = '';
    return {
      url: url.href,
      requestHead: this.#call!.requestHead(),
      responseHead: head.text(),
      body: this.#received.take(),
      truncated,
    };
  }

  #fail(code: FetchFailureCode, message: string): void {
    if (this.#settle(OF_CALLER.has(code) ? 'sound' : 'doubtful')) {
      this.#resolve({ kind: 'failure', code, message, wrote: this.#wrote, ...this.#timing() });
      this.#release();
    }
  }

  /** @returns false if the exchange had already settled. */
  #settle(connection: 'keep' | ConnectionVerdict): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#endWait();
    this.#lastByteAt ??= this.#context.now();
    clearTimeout(this.#phaseTimer);
    clearTimeout(this.#totalTimer);
    this.#request.signal.removeEventListener('abort', this.abort);
    this.#reader?.stop();
    this.#request.account?.ended();
    if (connection !== 'keep') this.#call?.destroy(connection);
    return true;
  }

  /**
   * Drops the references to the client's objects. Otherwise garbage that still refers to this
   * exchange, such as the old table of a Map that has grown, would keep them until the old
   * generation is collected.
   */
  #release(): void {
    this.#call = null;
    this.#head = null;
    this.#reader = null;
  }

  #timing() {
    const endedAt = this.#lastByteAt ?? this.#context.now();
    return { ip: this.#ip, durationMs: endedAt - this.#startedAt - this.#waitedMs, endedAt };
  }
}

/** Body bytes that may arrive: Content-Length if it can be trusted, at most `cap`. */
function bytesAwaited(headers: IncomingHttpHeaders, cap: number): number {
  const length = headers['content-length'] ?? '';
  const isCoded = headers['content-encoding'] ?? headers['transfer-encoding'];
  if (isCoded !== undefined || !/^\d+$/.test(length)) return cap;
  return Math.min(Number(length), cap);
}
