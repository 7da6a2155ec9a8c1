// Web servers for one test: each name is a host with its own loopback address, all at one free
// port. The test supplies the answers and judges the crawl by the log of requests. For servers that
// violate HTTP, see strange-server.ts.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** On a busy machine the server measures gaps that are shorter by up to this time. */
export const blurMs = 15;

/** A request; times are those of `performance.now()`. */
export interface Visit<Host extends string> {
  readonly host: Host;
  /** Path and query. */
  readonly path: string;
  readonly start: number;
  /** Time of the answer; 0 before. */
  end: number;
}

export class HostServers<Host extends string> {
  /** Requests in the order of arrival; a test may clear it between two crawls. */
  readonly log: Visit<Host>[] = [];
  readonly #net: number;
  readonly #hosts: readonly Host[];
  readonly #answer: (visit: Visit<Host>, response: http.ServerResponse) => void;
  readonly #servers: http.Server[] = [];
  #port = 0;

  /**
   * @param net second byte of the addresses; the web of no other test may use it
   * @param answer called for each request after it was added to the log
   */
  constructor(
    net: number,
    hosts: readonly Host[],
    answer: (visit: Visit<Host>, response: http.ServerResponse) => void,
  ) {
    this.#net = net;
    this.#hosts = hosts;
    this.#answer = answer;
  }

  async start(): Promise<void> {
    for (const host of this.#hosts) {
      const server = http.createServer((request, response) => {
        const path = request.url ?? '';
        const visit: Visit<Host> = { host, path, start: performance.now(), end: 0 };
        this.log.push(visit);
        // Recorded before the client can have the whole answer, even if this process is slow.
        const end = response.end.bind(response) as (...args: unknown[]) => http.ServerResponse;
        response.end = (...args: unknown[]) => {
          visit.end = performance.now();
          return end(...args);
        };
        this.#answer(visit, response);
      });
      this.#servers.push(server);
      server.listen(this.#port, this.addressOf(host));
      await once(server, 'listening');
      this.#port = (server.address() as AddressInfo).port;
    }
  }

  stop(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
  }

  addressOf(host: Host): string {
    return `127.${this.#net}.0.${this.#hosts.indexOf(host) + 1}`;
  }

  /** `http://ADDRESS:PORT`; valid after `start`. */
  origin(host: Host): string {
    return `http://${this.addressOf(host)}:${this.#port}`;
  }

  /** Requested paths of a host, in order. */
  asked(host: Host): string[] {
    return this.#of(host).map(({ path }) => path);
  }

  /** Asserts the delay between each answer and the next request. */
  assertPolite(host: Host, delayMs: number): void {
    const visits = this.#of(host);
    for (const [k, { start }] of visits.slice(1).entries()) {
      const gap = start - visits[k]!.end;
      assert.ok(gap >= delayMs - blurMs, `${host}: ${gap} ms, not ${delayMs}`);
    }
  }

  #of(host: Host): Visit<Host>[] {
    return this.log.filter((visit) => visit.host === host);
  }
}
