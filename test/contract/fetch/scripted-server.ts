/**
 * A TCP server on loopback that sends exactly the bytes of a script and records the bytes that it
 * receives. The first bytes of a request start the script. The steps are those of the published
 * torture table, so its rows can be played unchanged.
 */

import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

export type Step =
  | { readonly send: string; readonly times?: number; readonly everyMs?: number }
  | { readonly send_b64: string }
  | {
      readonly repeat: string;
      readonly bytes: number;
      readonly everyMs?: number;
      readonly delayMsPerKiB?: number;
    }
  | { readonly randomBytes: number }
  | { readonly waitMs: number }
  | { readonly close: 'fin' | 'hang' | 'reset' };

/** The same steps for every request, or steps chosen by its path. */
export type Script = readonly Step[] | ((path: string) => readonly Step[]);

/** A pause does not keep the process alive. */
const unref = { ref: false };
/** Size of a write in a repeated step; small enough to notice soon that the client has closed. */
const BLOCK_BYTES = 64 * 1024;

export class ScriptedServer {
  /** The bytes that each connection sent, in order of arrival; '' if it sent nothing. */
  readonly received: string[] = [];
  /** Bytes written to the sockets of all connections. */
  written = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #closings = new EventEmitter();
  readonly #stepsOf: (path: string) => readonly Step[];

  private constructor(steps: Script) {
    this.#stepsOf = typeof steps === 'function' ? steps : () => steps;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(steps: Script, host = '127.0.0.1', port = 0): Promise<ScriptedServer> {
    const server = new ScriptedServer(steps);
    server.#server.listen(port, host);
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Resolves once the client has closed every connection, or rejects after `withinMs`. */
  async allClosed(withinMs: number): Promise<void> {
    const signal = AbortSignal.timeout(withinMs);
    while (this.#sockets.size > 0) {
      await once(this.#closings, 'closed', { signal });
    }
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    const index = this.received.push('') - 1;
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#closings.emit('closed');
    });
    let playing = false;
    socket.on('data', (chunk) => {
      this.received[index] += chunk.toString('latin1');
      if (!playing) {
        playing = true;
        const path = chunk.toString('latin1').split(' ', 2)[1] ?? '';
        void this.#play(socket, this.#stepsOf(path)).then(() => {
          // A kept connection may carry the next request.
          playing = false;
        });
      }
    });
  }

  async #play(socket: Socket, steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (socket.destroyed) {
        return;
      }
      if ('send' in step) {
        await this.#sendTimes(socket, step.send, step.times ?? 1, step.everyMs ?? 0);
      } else if ('send_b64' in step) {
        await this.#write(socket, Buffer.from(step.send_b64, 'base64'));
      } else if ('repeat' in step) {
        await this.#repeat(socket, step);
      } else if ('randomBytes' in step) {
        await this.#write(socket, noise(step.randomBytes));
      } else if ('waitMs' in step) {
        await wait(step.waitMs, undefined, unref);
      } else if (step.close === 'fin') {
        socket.end();
      } else if (step.close === 'reset') {
        socket.resetAndDestroy();
      }
    }
  }

  async #sendTimes(socket: Socket, text: string, times: number, everyMs: number): Promise<void> {
    for (let n = 0; n < times && !socket.destroyed; n++) {
      await this.#write(socket, Buffer.from(text));
      if (everyMs > 0) {
        await wait(everyMs, undefined, unref);
      }
    }
  }

  async #repeat(socket: Socket, step: Extract<Step, { repeat: string }>): Promise<void> {
    const { repeat, bytes, everyMs, delayMsPerKiB } = step;
    const unit = Buffer.from(repeat);
    const perBlock = everyMs === undefined ? Math.max(1, Math.floor(BLOCK_BYTES / unit.length)) : 1;
    const block = Buffer.concat(Array.from({ length: perBlock }, () => unit));
    for (let left = bytes; left > 0 && !socket.destroyed; left -= block.length) {
      const part = left < block.length ? block.subarray(0, left) : block;
      await this.#write(socket, part);
      const pauseMs = everyMs ?? (delayMsPerKiB ?? 0) * (part.length / 1024);
      if (pauseMs > 0) {
        await wait(pauseMs, undefined, unref);
      }
    }
  }

  async #write(socket: Socket, bytes: Buffer): Promise<void> {
    if (socket.destroyed) {
      return;
    }
    this.written += bytes.length;
    if (!socket.write(bytes)) {
      const closed = new AbortController();
      const onClose = () => closed.abort();
      socket.once('close', onClose);
      await once(socket, 'drain', { signal: closed.signal }).catch(() => {});
      socket.off('close', onClose);
    }
  }
}

/** Pseudo-random bytes, the same on every run (xorshift). */
function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = 0x9e3779b9;
  for (let index = 0; index < length; index++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[index] = state & 0xff;
  }
  return bytes;
}
