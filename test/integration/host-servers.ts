// Web servers for one test: a host of its own, which is a loopback address, for each name, all at
// one free port, and a log of what they were asked, by which the crawl is judged. What they answer
// is the test's. For servers that answer as no HTTP library would, see strange-server.ts.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** Timers and sockets of a busy machine make a gap look shorter by so much, seen from the server. */
export const blurMs = 15;

/** A request; times are those of `performance.now()`. */
export interface Visit<Host extends string> {
  readonly host: Host;
  /** With its query. */
  readonly path: string;
  readonly start: number;
  /** When it was answered; 0 until then. */
  end: number;
}

export class HostServers<Host extends string> {
  /** In the order in which they came; a test may empty it between two crawls. */
  readonly log: Visit<Host>[] = [];
  readonly #net: number;
  readonly #hosts: readonly Host[];
  readonly #answer: (visit: Visit<Host>, response: http.ServerResponse) => void;
  readonly #servers: http.Server[] = [];
  #port = 0;

  /**
   * @param net second byte of the addresses, which no other test's web may have
   * @param answer called for each request once it is in the log
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
        // No later than the client has the end of the answer, however late this process is told so.
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

  /** `http://ADDRESS:PORT`, once it has started. */
  origin(host: Host): string {
    return `http://${this.addressOf(host)}:${this.#port}`;
  }

  /** Paths that a host was asked for, in order. */
  asked(host: Host): string[] {
    return this.#of(host).map(({ path }) => path);
  }

  /** From each answer to the next request, no less than the delay. */
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
