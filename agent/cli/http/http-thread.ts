// Starts the HTTP server of an agent or a launch in a thread of its own. Nothing that goes wrong there
// harms the crawl.

import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { isLoopback, type ListenAddress } from '../../../config/values/listen-address.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { messageOf } from '../common/exit-code.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { Tokens } from './tokens.ts';

/** Its memory must not grow with what clients ask for. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };
const TOKENS_VARIABLE = 'MONITOR_TOKENS';

/** What the thread is started with. */
export interface HttpWork {
  readonly config: ResolvedConfig;
  readonly host: string;
  readonly port: number;
  /** Lines with roles and tokens. */
  readonly tokens: string;
  readonly version: string;
}

export type ToHttp = { readonly type: 'statuses'; readonly statuses: readonly AgentStatus[] };
export type FromHttp =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'error'; readonly message: string };

export interface HttpThread {
  /** The URL of the dashboard; rejects with the reason, with a remedy, if it cannot be served. */
  readonly url: Promise<string>;
  noteStatuses(statuses: readonly AgentStatus[]): void;
  close(): void;
}

interface Start {
  readonly config: ResolvedConfig;
  readonly listen: ListenAddress;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  readonly onError: (message: string) => void;
}

/** @returns the thread, or why the tokens do not permit it */
export function startHttp({ config, listen, env, version, onError }: Start): HttpThread | string {
  const tokens = tokensOf(config, env);
  if ('wrong' in tokens) return tokens.wrong;
  const { host, port } = listen;
  if (!isLoopback(host) && tokens.count === 0) {
    return (
      `monitor.listen ${host} can be reached from other machines, and there is no token: ` +
      `name a file with tokens in monitor.tokens, or set ${TOKENS_VARIABLE}="admin TOKEN"`
    );
  }
  const work: HttpWork = { config, host, port, tokens: tokens.text, version };
  const script = new URL(`../api/http-worker${extname(import.meta.url)}`, import.meta.url);
  let worker: Worker;
  try {
    worker = new Worker(script, { workerData: work, resourceLimits: HEAP });
  } catch (error) {
    return `the dashboard cannot be served: ${messageOf(error)}; raise the limit of files (ulimit -n)`;
  }
  // The crawl ends without waiting for it.
  worker.unref();
  const started = Promise.withResolvers<string>();
  // The caller may wait for the URL later.
  started.promise.catch(() => {});
  const fail = (why: string) => {
    onError(why);
    started.reject(new Error(why));
  };
  worker.on('message', (message: FromHttp) => {
    if (message.type === 'listening') started.resolve(urlOf(host, message.port));
    else if (message.type === 'failed')
      fail(`${host}:${port}: ${message.message}; choose another monitor.listen`);
    else onError(message.message);
  });
  worker.on('error', (error) => fail(`the HTTP server has ended: ${messageOf(error)}`));
  return {
    url: started.promise,
    noteStatuses(statuses) {
      const message: ToHttp = { type: 'statuses', statuses };
      worker.postMessage(message);
    },
    close: () => void worker.terminate(),
  };
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

type FoundTokens = { readonly text: string; readonly count: number } | { readonly wrong: string };

function tokensOf({ monitor }: ResolvedConfig, env: NodeJS.ProcessEnv): FoundTokens {
  const texts: string[] = [];
  const file = monitor.tokens;
  if (file !== null) {
    try {
      texts.push(readFileSync(file, 'utf8'));
    } catch (error) {
      return { wrong: `monitor.tokens: ${messageOf(error)}; write "ROLE TOKEN" lines into it` };
    }
  }
  // Several tokens in one variable: a line break is hard to write in some service files.
  texts.push((env[TOKENS_VARIABLE] ?? '').replaceAll(/[,;]/g, '\n'));
  const text = texts.join('\n');
  for (const [i, part] of texts.entries()) {
    const parsed = Tokens.parse(part);
    if (typeof parsed !== 'string') continue;
    const where = file !== null && i === 0 ? file : TOKENS_VARIABLE;
    return { wrong: `${where}: ${parsed}` };
  }
  const all = Tokens.parse(text);
  return typeof all === 'string' ? { wrong: all } : { text, count: all.size };
}
