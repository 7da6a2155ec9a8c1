// A TCP proxy before a Redis server that can hold back the answers, cut the connections, or lead to
// another server.

import { once } from 'node:events';
import net from 'node:net';
import { after } from 'node:test';

export class DelayingProxy {
  readonly port: number;
  /** Connections so far. */
  connections = 0;
  #target: number;
  #isHolding = false;
  readonly #held: (() => void)[] = [];
  readonly #sockets = new Set<net.Socket>();

  private constructor(server: net.Server, target: number) {
    this.#target = target;
    this.port = (server.address() as net.AddressInfo).port;
    server.on('connection', (near) => this.#join(near));
    after(() => {
      this.cut();
      server.close();
    });
  }

  static async before(target: number): Promise<DelayingProxy> {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new DelayingProxy(server, target);
  }

  url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Answers of the server are kept back. */
  hold(): void {
    this.#isHolding = true;
  }

  /** Passes on what was kept back, in order. */
  release(): void {
    this.#isHolding = false;
    for (const pass of this.#held.splice(0)) pass();
  }

  /** Answers that are kept back. */
  get heldCount(): number {
    return this.#held.length;
  }

  /** New connections lead to another server, as after a failover. */
  turnTo(target: number): void {
    this.#target = target;
    this.cut();
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: net.Socket): void {
    this.connections++;
    const far = net.connect(this.#target, '127.0.0.1');
    near.pipe(far);
    far.on('data', (bytes) => {
      if (this.#isHolding) this.#held.push(() => near.write(bytes));
      else near.write(bytes);
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
