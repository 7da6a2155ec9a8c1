/**
 * Opens a TCP connection to an address that the guard allows. The name is resolved once, and the
 * socket connects only to the checked addresses, so DNS rebinding has no effect. The connected
 * address is checked once more before TLS or HTTP writes a byte.
 */

import dns from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import type { FetchFailureCode } from '../fetch.ts';
import type { AddressGuard } from './address-guard.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves a host name to its addresses, best first. Rejects or is empty if there are none. */
export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** The system's resolver (`getaddrinfo`, with the hosts file). */
export const systemLookup: Lookup = async (hostname) => {
  const answers = await dns.lookup(hostname, { all: true });
  return answers.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/** A connection could not be opened. `code` is the failure code of the fetch. */
export class DialError extends Error {
  override readonly name = 'DialError';
  readonly code: FetchFailureCode;

  constructor(code: FetchFailureCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface DialTarget {
  /** Name or address literal; IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly guard: AddressGuard;
  readonly lookup: Lookup;
  /** The limit of the caller on connecting, in ms; 5 s by default. */
  readonly connectMs?: number;
  /** Address chosen before: the only one to dial. It is checked like any other. */
  readonly address?: string | null;
}

/** Limit on the addresses tried for one connection. More could not all be tried in `connectMs`. */
const ADDRESSES_TRIED_MAX = 4;
/**
 * Milliseconds for an attempt at one of several addresses. Node ends it then, and does not try this
 * address again, so it must be longer than the longest round trips, and than one retransmission
 * after a second.
 */
const ATTEMPT_MS = 1250;
/** The share of `connectMs` for all attempts but the last, which has what is left. */
const ATTEMPTS_SHARE = 0.5;
const CONNECT_MS = 5000;

/** Sockets can report errors after their last use. Without a listener these end the process. */
const ignoreError = () => {};

/**
 * Dials, and calls `done` once with a connected socket or a {@link DialError}.
 *
 * @returns a function that cancels: the socket is closed and, unless `done` was called before, it
 * gets an `aborted` error.
 */
export function dial(
  target: DialTarget,
  done: (error: DialError | null, socket?: Socket) => void,
): () => void {
  let socket: Socket | undefined;
  let finished = false;
  const finish = (error: DialError | null) => {
    if (finished) return;
    finished = true;
    if (error !== null) socket?.destroy();
    done(error, error === null ? socket : undefined);
  };
  passedAddresses(target)
    .then((addresses) => {
      if (finished) return;
      socket = connectTo(target, addresses);
      socket.on('error', ignoreError);
      socket.once('error', (error) => finish(connectError(error)));
      socket.once('connect', () => {
        const reason = target.guard.blocked(socket?.remoteAddress ?? '');
        finish(reason === null ? null : new DialError('blocked_address', reason));
      });
    })
    .catch((error: unknown) => {
      const isNamed = error instanceof DialError;
      finish(isNamed ? error : new DialError('unexpected', messageOf(error), error));
    });
  return () => finish(new DialError('aborted', 'cancelled while connecting'));
}

/** @throws DialError if the name does not resolve or the guard allows no address. */
async function passedAddresses(target: DialTarget): Promise<readonly ResolvedAddress[]> {
  const { hostname, guard } = target;
  const literal = target.address ?? hostname;
  const family = isIP(literal);
  const answers =
    family === 0 ? await resolve(target) : [{ address: literal, family: family === 6 ? 6 : 4 }];
  const reasons = answers.map(({ address }) => guard.blocked(address));
  const passed = answers.filter((_, index) => reasons[index] === null);
  if (passed.length === 0) {
    throw answers.length === 0
      ? new DialError('dns', `${hostname} has no address`)
      : new DialError('blocked_address', `${hostname} is ${reasons[0]}`);
  }
  return passed.slice(0, ADDRESSES_TRIED_MAX) as readonly ResolvedAddress[];
}

async function resolve(target: DialTarget): Promise<readonly ResolvedAddress[]> {
  try {
    return await target.lookup(target.hostname);
  } catch (error) {
    throw new DialError('dns', messageOf(error), error);
  }
}

function connectTo(target: DialTarget, addresses: readonly ResolvedAddress[]): Socket {
  return connect({
    host: target.hostname,
    port: target.port,
    noDelay: true,
    autoSelectFamily: addresses.length > 1,
    autoSelectFamilyAttemptTimeout: attemptMs(target.connectMs ?? CONNECT_MS, addresses.length),
    // Node asks for all addresses or for one, by `options.all`. It gets the checked addresses.
    lookup: (_hostname, options, callback) => {
      if (options.all) {
        callback(null, [...addresses]);
      } else {
        callback(null, addresses[0]!.address, addresses[0]!.family);
      }
    },
  });
}

function attemptMs(connectMs: number, addresses: number): number {
  const shareMs = (connectMs * ATTEMPTS_SHARE) / Math.max(1, addresses - 1);
  // Node takes at least 10 ms.
  return Math.max(10, Math.min(ATTEMPT_MS, Math.round(shareMs)));
}

function connectError(error: Error): DialError {
  // An attempt with several addresses gives an AggregateError with the code of the first.
  const { code } = error as NodeJS.ErrnoException;
  const failure =
    code === 'ECONNREFUSED'
      ? 'connect_refused'
      : code === 'ETIMEDOUT'
        ? 'connect_timeout'
        : 'connect_failed';
  return new DialError(failure, messageOf(error), error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error);
}
