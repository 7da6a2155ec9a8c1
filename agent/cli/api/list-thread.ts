// Calls the functions of list-worker.ts in its thread, one after the other. The thread is started with
// the first call, and again if it has ended.

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ResolvedConfig } from '../common/load-config.ts';
import { HttpProblem } from '../http/http-problem.ts';
import type { ListCalls, ListRequest, ListResponse } from './list-worker.ts';

type Waiting = ReturnType<typeof Promise.withResolvers<unknown>>;

export class ListThread {
  readonly #config: ResolvedConfig;
  readonly #script: URL;
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #number = 0;

  /** @param script - of the thread; tests replace it */
  constructor(config: ResolvedConfig, script = ownScript()) {
    this.#config = config;
    this.#script = script;
  }

  close(): void {
    void this.#worker?.terminate();
  }

  /** @throws HttpProblem if the call does */
  async call<N extends keyof ListCalls>(
    name: N,
    ...args: Parameters<ListCalls[N]>
  ): Promise<ReturnType<ListCalls[N]>> {
    this.#worker ??= this.#start();
    const number = ++this.#number;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(number, waiting);
    const request: ListRequest = { number, name, args };
    this.#worker.postMessage(request);
    return waiting.promise as Promise<ReturnType<ListCalls[N]>>;
  }

  #start(): Worker {
    const worker = new Worker(this.#script, { workerData: this.#config });
    worker.on('message', (response: ListResponse) => this.#settle(response));
    // Without memory, for example; `exit` follows.
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', () => {
      this.#worker = null;
      this.#fail(new Error('the thread that reads the lists has ended'));
    });
    return worker;
  }

  #settle({ number, result, problem, error }: ListResponse): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (problem) {
      const { status, code, detail, remedy } = problem;
      waiting?.reject(new HttpProblem(status, code, detail, remedy));
    } else if (error !== undefined) waiting?.reject(error);
    else waiting?.resolve(result);
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function ownScript(): URL {
  return new URL(`list-worker${extname(import.meta.url)}`, import.meta.url);
}
