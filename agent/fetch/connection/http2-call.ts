/**
 * One request as a stream of an HTTP/2 connection, on Node's own client. Framing rules out most
 * failures of HTTP/1.1. The remaining failures are a reset stream, a lost connection, and a
 * body shorter than its declared length.
 */

import http2, {
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2';
import { requestTarget } from '../../url/request-target.ts';
import {
  type Call,
  CallError,
  type CallEvents,
  type CallRequest,
  type ConnectionVerdict,
  HEADER_BYTES_MAX,
  type Repeat,
  RepeatableError,
} from './call.ts';
import type { BorrowedSession } from './http2-sessions.ts';
import { BODILESS, severalFields } from './response-headers.ts';
import { joinSmallFrames } from './small-frames.ts';

/** Errors that mean that the server violated the protocol (RFC 9113, section 7). */
const SYNTAX: ReadonlySet<number> = new Set([
  http2.constants.NGHTTP2_PROTOCOL_ERROR,
  http2.constants.NGHTTP2_FLOW_CONTROL_ERROR,
  http2.constants.NGHTTP2_FRAME_SIZE_ERROR,
  http2.constants.NGHTTP2_COMPRESSION_ERROR,
]);

const {
  NGHTTP2_NO_ERROR: NO_ERROR,
  NGHTTP2_REFUSED_STREAM: REFUSED_STREAM,
  NGHTTP2_ENHANCE_YOUR_CALM: ENHANCE_YOUR_CALM,
  NGHTTP2_HTTP_1_1_REQUIRED: HTTP_1_1_REQUIRED,
  NGHTTP2_FLAG_END_STREAM: END_STREAM,
} = http2.constants;
/** Identifier of the first request on a connection (RFC 9113, section 5.1.1). */
const FIRST_STREAM = 1;

interface Http2CallOptions extends BorrowedSession {
  /** Whether the connection goes through a proxy. */
  readonly proxied: boolean;
}

export class Http2Call implements Call {
  readonly #request: CallRequest;
  readonly #events: CallEvents;
  readonly #options: Http2CallOptions;
  #stream: ClientHttp2Stream | null = null;
  #over = false;
  #hasHead = false;
  #received = 0;
  #declared: number | null = null;

  constructor(request: CallRequest, events: CallEvents, options: Http2CallOptions) {
    this.#request = request;
    this.#events = events;
    this.#options = options;
    const { session, gate, proxied, giveBack, giveUp } = options;
    const ip = proxied || session.destroyed ? null : (session.socket.remoteAddress ?? null);
    if (!events.onReady(ip)) {
      giveBack();
      return;
    }
    const { url, headers } = request;
    try {
      this.#stream = session.request(
        {
          ':method': 'GET',
          ':scheme': 'https',
          ':authority': url.host,
          ':path': requestTarget(url),
          ...headers,
        },
        { endStream: true },
      );
    } catch (error) {
      giveUp();
      giveBack();
      this.#fail(new CallError('reset', String(error)));
      return;
    }
    joinSmallFrames(this.#stream, gate);
    this.#listen(this.#stream, giveBack);
  }

  requestHead(): string {
    const { url, headers } = this.#request;
    const fields = Object.entries({ host: url.host, ...headers });
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
    return `GET ${requestTarget(url)} HTTP/1.1\r\n${lines.join('')}\r\n`;
  }

  destroy(connection: ConnectionVerdict): void {
    this.#over = true;
    if (connection === 'doubtful') this.#options.giveUp();
    this.#stream?.close(http2.constants.NGHTTP2_CANCEL);
    this.#stream?.destroy();
  }

  #listen(stream: ClientHttp2Stream, giveBack: () => void): void {
    stream.on('error', (error) => this.#fail(this.#errorOf(stream, error.message)));
    stream.once('close', () => {
      this.#fail(this.#errorOf(stream, 'connection closed'));
      giveBack();
    });
    stream.once('response', (headers, flags, raw?: string[]) => {
      this.#onHead(headers, raw ?? []);
      const isOpen = (flags & END_STREAM) === 0;
      // Nobody waits for the end of such a response, and its stream would keep the connection busy.
      if (isOpen && BODILESS.has(headers[':status'] ?? 0)) this.destroy('sound');
    });
  }

  #onHead(headers: IncomingHttpHeaders & IncomingHttpStatusHeader, raw: string[]): void {
    const stream = this.#stream!;
    if (this.#over) return;
    this.#hasHead = true;
    const bytes = raw.reduce((sum, text) => sum + text.length, 0);
    if (bytes > HEADER_BYTES_MAX) {
      this.#fail(new CallError('headers_too_large', `the header has ${bytes} bytes`));
      this.destroy('doubtful');
      return;
    }
    const { ':status': status = 0, ...first } = headers;
    const fields = { ...first, ...severalFields(raw) };
    const length = fields['content-length'] ?? '';
    this.#declared = /^\d+$/.test(length) ? Number(length) : null;
    // Registered before the exchange's listeners, so that a short body fails before it looks
    // complete.
    stream.on('data', (chunk: Uint8Array) => {
      this.#received += chunk.byteLength;
    });
    stream.once('end', () => this.#onEnd());
    const text = () => headText(status, raw);
    this.#events.onHead({ status, headers: fields, text }, stream);
  }

  /**
   * Node ends the stream normally even if the connection was lost within the body. The stream is
   * then destroyed already, and the body is complete only if it has its declared length.
   */
  #onEnd(): void {
    const short = this.#declared !== null && this.#received < this.#declared;
    if (short || (this.#declared === null && this.#stream!.destroyed)) {
      const code = this.#stream!.destroyed ? 'reset' : 'truncated_body';
      this.#fail(
        new CallError(code, `received ${this.#received} of ${this.#declared ?? '?'} body bytes`),
      );
    }
    this.#over = true;
  }

  #fail(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#events.onFailure(error);
  }

  #errorOf(stream: ClientHttp2Stream, message: string): CallError {
    const code = stream.rstCode ?? 0;
    const repeat = this.#hasHead ? null : this.#repeatOf(code, stream.id ?? 0);
    if (repeat !== null) return new RepeatableError(repeat, message);
    return new CallError(SYNTAX.has(code) ? 'http_syntax' : 'reset', message);
  }

  #repeatOf(code: number, id: number): Repeat | null {
    const { farewell, session } = this.#options;
    const goaway = farewell();
    if (code === HTTP_1_1_REQUIRED || goaway?.code === HTTP_1_1_REQUIRED) return 'http1';
    // The server asks for fewer requests (RFC 9113, section 7): the retry has to wait.
    if (code === ENHANCE_YOUR_CALM || goaway?.code === ENHANCE_YOUR_CALM) return null;
    if (code === REFUSED_STREAM || (goaway !== null && id > goaway.lastStream)) {
      return 'unprocessed';
    }
    const hasGone = session.destroyed && (goaway === null || goaway.code === NO_ERROR);
    return hasGone && id > FIRST_STREAM ? 'stale' : null;
  }
}

/** @returns the head in HTTP/1.1 form, which archive readers understand. */
function headText(status: number, raw: readonly string[]): string {
  let text = `HTTP/1.1 ${status} \r\n`;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (!raw[at]!.startsWith(':')) text += `${raw[at]}: ${raw[at + 1]}\r\n`;
  }
  return `${text}\r\n`;
}
