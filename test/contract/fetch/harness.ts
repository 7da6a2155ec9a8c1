/**
 * Shared by the parts of the fetch contract: time-outs, a request, a scripted server with a fetcher
 * for one test, and assertions about the kind of a result.
 */

import assert from 'node:assert/strict';
import { before, describe } from 'node:test';
import { AddressGuard } from '../../../agent/fetch/address/address-guard.ts';
import type { Lookup } from '../../../agent/fetch/address/dial.ts';
import type { FetchTimeouts } from '../../../agent/fetch/client/exchange.ts';
import { createGotFetcher } from '../../../agent/fetch/client/got-fetcher.ts';
import type { HttpFetcherOptions } from '../../../agent/fetch/client/http-fetcher.ts';
import { createNodeFetcher } from '../../../agent/fetch/client/node-fetcher.ts';
import type {
  Fetcher,
  FetchFailure,
  FetchRequest,
  FetchResponse,
  FetchResult,
} from '../../../agent/fetch/fetch.ts';
import { type Script, ScriptedServer, type Step } from './scripted-server.ts';

export interface ContractSettings {
  readonly timeouts: FetchTimeouts;
  readonly guard: AddressGuard;
  readonly lookup?: Lookup;
  readonly certificateAuthority?: string;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export type CreateFetcher = (settings: ContractSettings) => Fetcher;

/** Time-outs for tests that expect none. */
export const PATIENT: FetchTimeouts = { connectMs: 5000, responseMs: 10_000, totalMs: 20_000 };
/** Time-outs for tests that expect one. */
export const HASTY: FetchTimeouts = { connectMs: 500, responseMs: 700, totalMs: 1500 };

export const OPEN_GUARD = new AddressGuard({ allowPrivate: true });
/** Resolves every name to this machine, so that one server serves many hosts. */
export const toLoopback: Lookup = async () => [{ address: '127.0.0.1', family: 4 }];

/** Tolerance for a time-out; after it the time-out counts as missed. */
export const SLACK_MS = 4000;

export function request(url: string, changes: Partial<FetchRequest> = {}): FetchRequest {
  return {
    url,
    kind: 'page',
    bodyBytesMax: 64 * 1024,
    signal: new AbortController().signal,
    mayWrite: () => true,
    ...changes,
  };
}

export function asFailure(result: FetchResult): FetchFailure {
  if (result.kind !== 'failure')
    assert.fail(`expected a failure, got a response: ${JSON.stringify(result)}`);
  return result;
}

export function asResponse(result: FetchResult): FetchResponse {
  if (result.kind !== 'response')
    assert.fail(`expected a response, got a failure: ${JSON.stringify(result)}`);
  return result;
}

/** Runs `use` with a scripted server and a fetcher, and closes both. */
export async function withServer(
  create: CreateFetcher,
  steps: Script,
  settings: Partial<ContractSettings>,
  use: (fetcher: Fetcher, server: ScriptedServer, url: string) => Promise<void>,
): Promise<void> {
  const server = await ScriptedServer.start(steps);
  const fetcher = create({ timeouts: PATIENT, guard: OPEN_GUARD, ...settings });
  try {
    await use(fetcher, server, `http://127.0.0.1:${server.port}/page`);
  } finally {
    await fetcher.close();
    await server.stop();
  }
}

/** A short page on a connection that stays open. */
export const ANSWER: Step[] = [
  { send: 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok' },
  { close: 'hang' },
];

const CLIENTS = { got: createGotFetcher, node: createNodeFetcher };
let client: keyof typeof CLIENTS = 'got';

/** Declares the tests once for each client, which {@link createClient} then uses. */
export function forEachClient(declare: () => void): void {
  for (const name of ['got', 'node'] as const) {
    describe(`client ${name}`, () => {
      before(() => {
        client = name;
      });
      declare();
    });
  }
}

/** Makes a fetcher with the client under test. */
export function createClient(options: HttpFetcherOptions): Fetcher {
  return CLIENTS[client](options);
}
