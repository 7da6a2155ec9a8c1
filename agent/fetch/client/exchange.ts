/**
 * One request from call to outcome: guard, connect, ask for the right, write, header, body. It
 * holds the three time-outs, of which the total is absolute, since idle timers never end a body
 * that drips; and it settles exactly once, after which everything it started is closed and late
 * events fall on deaf listeners. `got-fetcher.ts` makes one for each fetch.
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
import { readContentType, readLocation } from '../connection/response-headers.ts';
import type { FetchFailureCode, FetchRequest, FetchResult, RawExchange } from '../fetch.ts';
import type { ContentTypes } from './content-types.ts';
import type { CookieJar } from './cookie-jar.ts';
import { parseRetryAfter } from './retry-after.ts';

export interface FetchTimeouts {
  /** From the call to a usable connection: name, TCP and TLS together. */
  readonly connectMs: number;
  /** From writing the request to the end of the response header. */
  readonly responseMs: number;
  /** From the call to the last byte of the body, without the wait for memory. */
  readonly totalMs: number;
}

/** What all exchanges of a fetcher share. */
export interface ExchangeContext extends CallParts {
  /** Sent with every request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Types of pages that are read; null is all. */
  readonly contentTypes: ContentTypes | null;
  /** Null: cookies are neither kept nor sent. */
  readonly cookies: CookieJar | null;
  readonly guard: AddressGuard;
  readonly timeouts: FetchTimeouts;
  /** Whether results hold the exchange as it was on the wire. */
  readonly keepRaw: boolean;
  /** Monotonic epoch milliseconds. */
  readonly now: () => number;
  /** Unix milliseconds by the wall clock, for dates in headers. */
  readonly wallNow: () => number;
}

/** These end with the header whatever Content-Length says; bytes after it belong to nobody. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Failures that say nothing of the connection. */
const OWN_WISH: ReadonlySet<FetchFailureCode> = new Set(['aborted', 'no_right']);

/**
 * The request is to be repeated on another connection (RFC 9110, 15.5.9 and 15.5.20), so this one is
 * closed at once; nobody needs the body.
 */
const OTHER_CONNECTION: ReadonlySet<number> = new Set([408, 421]);

const ROBOTS_HEADERS = { accept: 'text/plain,text/*;q=0.8,*/*;q=0.5' };

export class Exchange implements CallEvents {
  readonly #request: FetchRequest;
  readonly #context: ExchangeContext;
  readonly #startedAt: number;
  readonly #onAbort = () => this.#fail('aborted', 'aborted by the caller');
  #resolve: (result: FetchResult) => void = () => {};
  #settled = false;
  #url: URL | null = null;
  #call: Call | null = null;
  #head: ResponseHead | null = null;
  #skipped: 'type' | null = null;
  /** Body as received, for the archive; stays empty where nobody wants it. */
  readonly #received = new BodyPieces();
  #reader: BodyReader | null = null;
  #phaseTimer: NodeJS.Timeout | undefined;
  #totalTimer: NodeJS.Timeout | undefined;
  /** When the total time begins: it moves by each wait for memory. */
  #totalFrom: number;
  /** Since when the body waits for memory; null: it does not. */
  #waitsSince: number | null = null;
  /** Waited before the last byte came. */
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

  /** Runs to the outcome; to be called once. Never rejects. */
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

  /** Ends the exchange from outside, as the signal would. */
  abort(): void {
    this.#onAbort();
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
      this.#onAbort();
      return;
    }
    signal.addEventListener('abort', this.#onAbort, { once: true });
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
    // The outcome may be known before the call is.
    if (this.#settled) call.destroy('sound');
  }

  /** @internal Asked by the call. */
  onReady(ip: string | null): boolean {
    this.#ip = ip;
    if (this.#settled) return false;
    const { address } = this.#request;
    if (address !== undefined && ip !== null && addressKey(ip) !== address) {
      this.#fail('no_right', `connected to ${ip}, not to ${address ?? 'none'}`);
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

  /** @internal Told by the call. */
  onRepeat(): void {
    this.#startPhase('connect_timeout', this.#context.timeouts.connectMs);
  }

  /** @internal Told by the call. */
  onReset(): void {
    this.#reset = true;
  }

  /** @internal Told by the call. */
  onHead(head: ResponseHead, body: BodyStream): void {
    if (this.#settled) return;
    clearTimeout(this.#phaseTimer);
    this.#head = head;
    const { status, headers } = head;
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

  /** The total time does not run while it is this agent that makes the server wait. */
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
      if (this.#reset) {
        // A body that only the end of the connection delimits looks whole after a reset.
        this.#breakOff('reset', 'connection reset within the body');
      } else {
        reader.finish();
      }
    });
  }

  #onBodyEnd(end: BodyEnd): void {
    switch (end.kind) {
      case 'whole':
        this.#succeed(null, 'keep');
        return;
      case 'cut':
        this.#succeed('length', 'sound');
        return;
      default:
        this.#breakOff(end.code, end.message);
    }
  }

  /** @internal Told by the call. */
  onFailure(error: Error): void {
    const where = this.#head === null ? 'request' : 'body';
    const code = failureCode(error, where);
    this.#breakOff(code === 'truncated_body' && this.#reset ? 'reset' : code, error.message);
  }

  /**
   * A failure that keeps the header where it decides anyway: a redirect, a 404 or a Retry-After
   * says all it has to say before its body. A body of a 2xx is a page and is whole or nothing.
   */
  #breakOff(code: FetchFailureCode, message: string): void {
    const status = this.#head?.status ?? 0;
    if (status < 300) {
      this.#fail(code, message);
    } else {
      this.#succeed(code === 'total_timeout' ? 'time' : 'disconnect', 'doubtful');
    }
  }

  #startPhase(code: 'connect_timeout' | 'response_timeout', phaseMs: number): void {
    clearTimeout(this.#phaseTimer);
    this.#phaseTimer = setTimeout(() => this.#fail(code, `${phaseMs} ms`), phaseMs);
  }

  #succeed(truncated: RawExchange['truncated'], connection: 'keep' | ConnectionVerdict): void {
    const head = this.#head!;
    if (!this.#settle(connection)) {
      return;
    }
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
    if (this.#settle(OWN_WISH.has(code) ? 'sound' : 'doubtful')) {
      this.#resolve({ kind: 'failure', code, message, wrote: this.#wrote, ...this.#timing() });
      this.#release();
    }
  }

  /** @returns false where the outcome was known already. */
  #settle(connection: 'keep' | ConnectionVerdict): boolean {
    if (this.#settled) {
      return false;
    }
    this.#settled = true;
    this.#endWait();
    this.#lastByteAt ??= this.#context.now();
    clearTimeout(this.#phaseTimer);
    clearTimeout(this.#totalTimer);
    this.#request.signal.removeEventListener('abort', this.#onAbort);
    this.#reader?.stop();
    this.#request.account?.ended();
    if (connection !== 'keep') {
      this.#call?.destroy(connection);
    }
    return true;
  }

  /**
   * Lets go of the client's objects at once. Something that is dead itself may still refer to this,
   * such as a table that a Map has outgrown, and keep it until the old generation is collected.
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

/** How much of the body may come: as much as the server announces where that is to be believed. */
function bytesAwaited(headers: IncomingHttpHeaders, cap: number): number {
  const length = headers['content-length'] ?? '';
  const isCoded = headers['content-encoding'] ?? headers['transfer-encoding'];
  if (isCoded !== undefined || !/^\d+$/.test(length)) return cap;
  return Math.min(Number(length), cap);
}
