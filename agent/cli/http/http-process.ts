// Starts the HTTP server of an agent or a launch in a process of its own, and starts it again if it
// ends. Nothing that goes wrong there harms the crawl: a client may exhaust its memory, and a process
// may be ended at any moment, which a thread with open sockets of ZeroMQ may not.

import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ListenAddress } from '../../../config/values/listen-address.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { messageOf } from '../common/exit-code.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { serverTokens, TOKENS_VARIABLE } from './token-source.ts';

/** Its memory must not grow with what clients ask for. */
const HEAP = '--max-old-space-size=256';
/** The wait before the first restart; each following one is twice as long. */
const RESTART_MS = 1000;
const RESTART_MS_MAX = 60_000;

/** What the process is to serve. */
export interface HttpWork {
  readonly type: 'serve';
  readonly config: ResolvedConfig;
  readonly host: string;
  readonly port: number;
  /** Lines with roles and tokens. */
  readonly tokens: string;
  readonly version: string;
}

export interface HttpStatuses {
  readonly type: 'statuses';
  /** The statuses that have come since the last message. */
  readonly statuses: readonly AgentStatus[];
  /** The agents that run. */
  readonly running: readonly string[];
}

export type ToHttp = HttpWork | HttpStatuses;
export type FromHttp =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'error'; readonly message: string };

export interface HttpProcess {
  /** The URL of the dashboard; rejects with the reason, with a remedy, if it cannot be served. */
  readonly url: Promise<string>;
  /**
   * The URL at present; null: no process serves. Another program may then listen at the port, and
   * would get the tokens of those that are told this URL.
   */
  readonly served: string | null;
  noteStatuses(statuses: readonly AgentStatus[], running: readonly string[]): void;
  close(): void;
}

interface Start {
  readonly config: ResolvedConfig;
  readonly listen: ListenAddress;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  readonly onError: (message: string) => void;
}

/** @returns the process, or why the tokens do not permit it */
export function startHttp({ config, listen, env, version, onError }: Start): HttpProcess | string {
  const { host, port } = listen;
  const tokens = serverTokens(host, config.monitor.tokens, env);
  if ('wrong' in tokens) return tokens.wrong;
  return new Server({ config, host, port, tokens: tokens.text, version }, onError);
}

class Server implements HttpProcess {
  readonly #work: Omit<HttpWork, 'type'>;
  readonly #onError: (message: string) => void;
  readonly #url = Promise.withResolvers<string>();
  readonly url = this.#url.promise;
  served: string | null = null;
  #child: ChildProcess | null = null;
  /** The port of the last process, which the next one takes again. */
  #port: number;
  #restartMs = RESTART_MS;
  #isClosed = false;
  #hasServed = false;

  constructor(work: Omit<HttpWork, 'type'>, onError: (message: string) => void) {
    this.#work = work;
    this.#port = work.port;
    this.#onError = onError;
    // The caller may wait for the URL later.
    this.url.catch(() => {});
    this.#start();
  }

  #start(): void {
    const script = new URL(`../api/http-worker${extname(import.meta.url)}`, import.meta.url);
    const { [TOKENS_VARIABLE]: _, ...env } = process.env;
    const child = fork(fileURLToPath(script), {
      execArgv: [...process.execArgv, HEAP],
      env,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child = child;
    // The crawl ends without waiting for it.
    child.unref();
    child.channel?.unref();
    child.on('message', (message: FromHttp) => this.#hear(message));
    child.on('error', (error) => this.#fail(`cannot be started: ${messageOf(error)}`));
    child.on('exit', (code, signal) => this.#onExit(signal ?? `code ${code}`));
    const work: HttpWork = { type: 'serve', ...this.#work, port: this.#port };
    child.send(work, () => {});
  }

  #hear(message: FromHttp): void {
    const { host, port } = this.#work;
    if (message.type === 'listening') {
      this.served = urlOf(host, message.port);
      if (message.port !== this.#port && this.#hasServed) {
        this.#onError(`the dashboard is served at ${this.served} now: the port was taken`);
      }
      this.#port = message.port;
      this.#hasServed = true;
      this.#url.resolve(this.served);
    } else if (message.type === 'failed') {
      this.#isClosed = true;
      this.#fail(`${host}:${port}: ${message.message}; choose another monitor.listen`);
    } else this.#onError(`the HTTP server: ${message.message}`);
  }

  #fail(why: string): void {
    this.#onError(`the dashboard ${why}`);
    this.#url.reject(new Error(why));
  }

  #onExit(how: string): void {
    this.#child = null;
    this.served = null;
    if (this.#isClosed) return;
    this.#onError(`the HTTP server has ended (${how}), and is started again`);
    setTimeout(() => this.#isClosed || this.#start(), this.#restartMs).unref();
    this.#restartMs = Math.min(this.#restartMs * 2, RESTART_MS_MAX);
  }

  noteStatuses(statuses: readonly AgentStatus[], running: readonly string[]): void {
    const message: HttpStatuses = { type: 'statuses', statuses, running };
    if (this.#child?.connected) this.#child.send(message, () => {});
  }

  close(): void {
    this.#isClosed = true;
    if (this.#child?.connected) this.#child.disconnect();
  }
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}
