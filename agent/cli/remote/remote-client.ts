// Requests to the HTTP servers of agents on other machines. An agent there may be slow, of another
// version or hostile: each request has limits of time and size, no redirect is followed, and the
// tokens are not sent.

import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { setTimeout } from 'node:timers/promises';
import { isRecord } from '../../messaging/checks/shape.ts';
import { wallMs } from '../../runtime/clock.ts';
import { messageOf, type Refusal, scratchRefusal, systemCode } from '../common/exit-code.ts';
import { printable } from '../common/output.ts';
import { API } from '../http/api-prefix.ts';
import { signed } from '../http/request-signature.ts';
import { SHARED_TOKEN_REMEDY } from '../http/token-source.ts';
import type { RemoteAgent } from './remote-agents.ts';

/** The first request to a server loads its code. */
const ANSWER_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 32 * 1024 ** 2;
const DETAIL_CHARACTERS_MAX = 300;
/** The longest pause before a server that is busy is asked again. */
const RETRY_MS_MAX = 10_000;

/** A request that failed. Its message is a sentence that names the agent. */
export class RemoteError extends Error {}

type Query = Readonly<Record<string, string | number | undefined>>;

interface Request {
  /** Below that of the API. */
  readonly path: string;
  readonly query?: Query;
}

export class RemoteClient {
  readonly #keys: readonly Buffer[];

  /** @param keys - see `Tokens`; without one, only servers that need no token answer */
  constructor(keys: readonly Buffer[]) {
    this.#keys = keys;
  }

  /**
   * @param gone - aborts once nobody needs the answer
   * @throws RemoteError
   */
  async json(
    agent: RemoteAgent,
    request: Request,
    msMax = ANSWER_MS_MAX,
    gone?: AbortSignal,
  ): Promise<unknown> {
    return this.#guarded(agent, async () => {
      const late = AbortSignal.timeout(msMax);
      const body = await this.#body(agent, request, gone ? AbortSignal.any([late, gone]) : late);
      return JSON.parse(await textOf(body)) as unknown;
    });
  }

  /**
   * @param file - to which the answer is written
   * @param msMax - milliseconds
   * @throws RemoteError, or Refusal if the file cannot be written
   */
  async download(
    agent: RemoteAgent,
    request: Request,
    file: string,
    { msMax, bytesMax }: { readonly msMax: number; readonly bytesMax: number },
  ): Promise<void> {
    let failure: Refusal | null = null;
    const download = this.#guarded(agent, async () => {
      const body = await this.#body(agent, request, AbortSignal.timeout(msMax));
      const written = createWriteStream(file);
      written.once('error', (error) => {
        failure = scratchRefusal(error);
      });
      await pipeline(limited(body, bytesMax), written).finally(() => body.destroy());
    });
    await download.catch((error: unknown) => {
      throw failure ?? error;
    });
  }

  async #guarded<T>({ id, origin }: RemoteAgent, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      const why = printable(causeOf(error)).slice(0, DETAIL_CHARACTERS_MAX);
      throw new RemoteError(`${id}: its API at ${origin} ${why}`);
    }
  }

  async #body(agent: RemoteAgent, request: Request, late: AbortSignal): Promise<Readable> {
    const { origin } = agent;
    const { path, query = {} } = request;
    const url = new URL(`${API}${path}`, origin);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const ask = () =>
      fetch(url, {
        redirect: 'error',
        headers: this.#signed(url),
        signal: late,
      });
    const response = await ask().catch((error: unknown) => {
      if (isClosed(error)) return ask();
      throw error;
    });
    const retryMs = 1000 * Number(response.headers.get('retry-after'));
    if (response.status === 503 && retryMs > 0 && retryMs <= RETRY_MS_MAX) {
      await response.body?.cancel();
      await setTimeout(retryMs, undefined, { signal: late }).catch(() => late.throwIfAborted());
      return this.#body(agent, request, late);
    }
    if (response.body === null) throw new Refused('has sent no answer');
    const body = Readable.fromWeb(response.body as ReadableStream);
    // A body that is not read fails when its time limit ends. Without a listener, that error would end
    // the process. The reader of a body gets its errors in addition.
    body.on('error', () => {});
    if (response.status === 200) return body;
    if (response.status === 401 && this.#keys.length === 0) {
      body.destroy();
      throw new Refused(`needs a token; ${SHARED_TOKEN_REMEDY}`);
    }
    throw new Refused(`has answered ${response.status}: ${detailOf(await textOf(body))}`);
  }

  #signed({ host, pathname, search }: URL): Record<string, string> {
    if (this.#keys.length === 0) return {};
    const at = Math.floor(wallMs() / 1000);
    const request = { method: 'GET', host, target: pathname + search, at };
    return { authorization: signed(this.#keys, request) };
  }
}

/** The server has closed a connection of an earlier request. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && systemCode(error.cause) === 'UND_ERR_SOCKET';
}

class Refused extends Error {}

async function textOf(body: Readable): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of limited(body, ANSWER_BYTES_MAX)) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function* limited(body: Readable, bytesMax: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > bytesMax) throw new Refused(`has sent more than ${bytesMax / 1024 ** 2} MB`);
    yield part;
  }
}

function causeOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'was too slow';
  if (error instanceof SyntaxError) return 'has sent no JSON';
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return `cannot be asked: ${messageOf(cause)}`;
}

/** The detail and the remedy of a problem document. */
function detailOf(text: string): string {
  try {
    const problem: unknown = JSON.parse(text);
    if (isRecord(problem) && typeof problem.detail === 'string') {
      const { detail, remedy } = problem;
      return typeof remedy === 'string' && remedy !== '' ? `${detail}; ${remedy}` : detail;
    }
  } catch {
    // Not an answer of ubiring.
  }
  return text;
}
