// The connection to the Redis of one network. Commands fail at once while there is no connection;
// the link connects again by itself, with delays that grow to `backOffMsMax`. Each connection is a
// new client of the library whose own reconnection is off, so that the checks of the server are
// repeated, and so that after an error the answers cannot be those of other commands.

import { isIP } from 'node:net';
import type { Sentinels } from '../../../config/values/redis-url.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import type { ClientLibrary, RedisConnection } from './client-library.ts';
import { type ClusterNode, movedTo, nodesOf } from './cluster-nodes.ts';
import {
  type ConnectionPhase,
  failureOfConnection,
  failureOfReply,
  NetworkFailure,
  type RedisPlace,
  type UrlScheme,
  urlScheme,
} from './network-failure.ts';
import type { Script } from './pool-scripts.ts';
import { checkServer, evictionIn } from './server-check.ts';

export interface LinkOptions {
  readonly place: RedisPlace;
  /** The server is where one of these says. Null: it is at `place`. */
  readonly sentinels: Sentinels | null;
  readonly tls: boolean;
  /** ACL user; '' for the default user. */
  readonly user: string;
  readonly password: string | null;
  /** The environment variable of the password, for messages. */
  readonly passwordVariable: string;
  readonly database: number;
  /** For the connection and for each command. */
  readonly timeoutMs: number;
  /** How often an open connection is asked whether the server deletes keys now. */
  readonly recheckMs: number;
  /** The command that begins to use a server process, by its run id. In a Cluster, a wrong node answers it with MOVED. */
  readonly enter: (run: string) => readonly string[];
}

/** Answers MOVED that one `connect` follows. */
const hopsMax = 4;
const backOffMsMin = 100;
const backOffMsMax = 5000;
/** Commands that wait for an answer; further ones fail, so memory is bounded. */
const commandsMax = 1000;

export class RedisLink {
  readonly #options: LinkOptions;
  readonly #library: ClientLibrary;
  /** Where the next attempt connects to: the configured server, a node of its cluster, the master. */
  #place: RedisPlace;
  /** The nodes of the cluster, which also know who has the keys. */
  #nodes: readonly ClusterNode[] = [];
  #connection: RedisConnection | null = null;
  /** While an attempt runs, so that `close` can end it. */
  #attempted: RedisConnection | null = null;
  /** Why there is no connection. */
  #failure: NetworkFailure | null;
  readonly #scheme: UrlScheme;
  #failures = 0;
  #retry: NodeJS.Timeout | null = null;
  #recheck: NodeJS.Timeout | null = null;
  #warning: NetworkFailure | null = null;
  #isClosed = false;
  #serverRun = '';
  #answeredAt = 0;
  #commands = 0;
  #waiting = 0;

  constructor(options: LinkOptions, library: ClientLibrary) {
    this.#options = options;
    this.#library = library;
    this.#place = options.place;
    this.#scheme = urlScheme(options.tls, options.sentinels !== null);
    this.#failure = new NetworkFailure(options.place, 'unreachable', 'not connected yet');
  }

  /** Why there is no connection now; null if there is one. */
  get failure(): NetworkFailure | null {
    return this.#failure;
  }

  /** The server works, but its settings have become wrong; null: they have not. */
  get warning(): NetworkFailure | null {
    return this.#warning;
  }

  /** The run id of the server process that the last connection was opened to. */
  get serverRun(): string {
    return this.#serverRun;
  }

  /** The server answers, and must not be used. */
  refusal(cause: string): NetworkFailure {
    return new NetworkFailure(this.#place, 'refused', cause);
  }

  /** Commands sent so far. */
  get commands(): number {
    return this.#commands;
  }

  /**
   * Connects and checks the server. Callers call it once; after a failure it calls itself again.
   *
   * @throws the failure of this attempt; the next ones follow until `close`
   */
  async connect(): Promise<void> {
    for (let hops = 0; ; hops++) {
      try {
        await this.#findMaster();
        return await this.#open();
      } catch (error) {
        const moved = this.#movedTo(error);
        if (moved === null || hops === hopsMax || this.#isClosed) {
          const failure = this.#failureOf(error, this.#phase);
          this.#connectLater(failure);
          throw failure;
        }
        this.#place = moved;
      }
    }
  }

  /** Asks the Sentinels, one after the other, where the server is. */
  async #findMaster(): Promise<void> {
    const { sentinels, place } = this.#options;
    if (sentinels === null) return;
    const { master, places } = sentinels;
    const whys: string[] = [];
    // After a failure another one comes first: one that is cut off may know an earlier master.
    for (const k of places.keys()) {
      this.#place = { ...place, ...places[(k + this.#failures) % places.length]! };
      try {
        const found = await this.#askSentinel(master);
        if (found !== null) {
          this.#place = { ...place, ...found };
          return;
        }
        whys.push(new NetworkFailure(this.#place, 'unreachable', 'it does not know this name').why);
      } catch (error) {
        const needsPassword = this.#isReply(error) && error.message.startsWith('NOAUTH');
        const cause = 'it requires a password; Sentinels are asked without one, so remove it';
        const failure = needsPassword && new NetworkFailure(this.#place, 'refused', cause);
        whys.push((failure || this.#failureOf(error, this.#phase)).why);
      }
      if (this.#isClosed) break;
    }
    const remedy = 'start one of these Sentinels, or correct their addresses and the name';
    const what = `no Sentinel knows where '${master}' is (${whys.join(', ')}); ${remedy}`;
    throw new NetworkFailure(place, 'unreachable', what);
  }

  async #askSentinel(master: string): Promise<{ host: string; port: number } | null> {
    const connection = this.#newConnection(true);
    const ask = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master];
    const answer = await this.#opened(connection, (first) => first(ask));
    connection.destroy();
    const [host, port] = Array.isArray(answer) ? (answer as unknown[]) : [];
    return typeof host === 'string' && Number(port) > 0 ? { host, port: Number(port) } : null;
  }

  /** Runs the first commands of a connection, and destroys it if they fail. */
  async #opened<T>(
    connection: RedisConnection,
    act: (first: (args: readonly string[]) => Promise<unknown>) => Promise<T>,
  ): Promise<T> {
    this.#attempted = connection;
    try {
      const died = new Promise<never>((_, reject) => connection.on('error', reject));
      died.catch(() => {});
      const opened = connection.connect();
      const { isTls, plain } = this.#scheme;
      const hint =
        isTls && this.#phase === 'first' ? `; if it does not speak TLS, write ${plain}` : '';
      const late = `no connection in time${hint}`;
      await this.#inTime(Promise.race([opened, died]), 'unreachable', late);
      return await act((args) => {
        const answer = Promise.race([connection.sendCommand(args), died]);
        return this.#inTime(answer, 'unreachable', 'no answer to the first commands in time');
      });
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      this.#attempted = null;
    }
  }

  async #open(): Promise<void> {
    const connection = this.#newConnection();
    await this.#opened(connection, async (first) => {
      const { run, isCluster } = checkServer(
        this.#place,
        await first(['INFO']),
        this.#options.sentinels !== null,
      );
      const slots = isCluster ? await first(['CLUSTER', 'SLOTS']) : null;
      this.#nodes = nodesOf(slots, this.#place.host);
      await first(this.#options.enter(run));
      this.#serverRun = run;
    });
    if (this.#isClosed) return connection.destroy();
    this.#connection = connection;
    this.#failure = null;
    this.#failures = 0;
    this.#recheckLater(connection);
  }

  /**
   * Asks from time to time whether the server may now evict keys, and then sets the warning. The
   * crawl goes on, because a server whose memory is not full deletes nothing. A new connection to
   * the server would be refused.
   */
  #recheckLater(connection: RedisConnection): void {
    const recheck = async () => {
      const info = await this.#send(['INFO', 'memory']);
      this.#warning = evictionIn(this.#place, info);
    };
    this.#recheck = setTimeout(async () => {
      // Other commands fail in the same way and report it.
      await recheck().catch(() => {});
      if (this.#connection === connection) this.#recheckLater(connection);
    }, this.#options.recheckMs).unref();
  }

  /** @throws a NetworkFailure */
  async call(args: readonly string[]): Promise<unknown> {
    try {
      return await this.#send(args);
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  /** Runs a script, which the server may have forgotten. @throws a NetworkFailure */
  async run(
    { source, sha1 }: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    try {
      return await this.#send(['EVALSHA', sha1, ...rest]);
    } catch (error) {
      if (!this.#isForgotten(error)) throw this.#failureOf(error);
    }
    return this.call(['EVAL', source, ...rest]);
  }

  /** Ends the connection. Commands without an answer fail. */
  close(): void {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#attempted?.destroy();
    const failure = new NetworkFailure(this.#place, 'unreachable', 'closed');
    if (this.#connection !== null) this.#drop(this.#connection, failure);
    this.#failure = failure;
  }

  /** Sentinels have no databases, and are asked without a password. */
  #newConnection(isSentinel = false): RedisConnection {
    const { tls, timeoutMs } = this.#options;
    const none = { user: '', password: null, database: 0 };
    const { user, password, database } = isSentinel ? none : this.#options;
    const { host, port } = this.#place;
    const connection = this.#library.createClient({
      RESP: 2,
      socket: {
        host,
        port,
        // Longer than the limit of `connect`, whose message says more.
        connectTimeout: 2 * timeoutMs,
        reconnectStrategy: false,
        ...(tls ? { tls: true } : {}),
        // An address has no name that a server could choose its certificate by.
        ...(tls && isIP(host) === 0 ? { servername: host } : {}),
      },
      ...(user === '' ? {} : { username: user }),
      ...(password === null ? {} : { password }),
      database,
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: 'disabled',
      // Also counts commands whose time is over; a longer queue ends the connection.
      commandsQueueMaxLength: 2 * commandsMax,
    });
    // After any error, answers may be lost, and later ones would be taken for them.
    connection.on('error', (error) => this.#drop(connection, this.#failureOf(error)));
    return connection;
  }

  async #send(args: readonly string[]): Promise<unknown> {
    const connection = this.#connection;
    if (connection === null) throw this.#failure;
    if (this.#waiting === commandsMax) {
      const cause = `${commandsMax} commands wait for answers`;
      throw new NetworkFailure(this.#place, 'failed', cause);
    }
    const sentAt = monotonicMs();
    this.#commands++;
    this.#waiting++;
    try {
      const cause = `no answer within ${this.#options.timeoutMs} ms`;
      const reply = await this.#inTime(connection.sendCommand(args), 'timeout', cause);
      this.#answeredAt = monotonicMs();
      return reply;
    } catch (error) {
      const isOurs = this.#isReply(error) || error instanceof NetworkFailure;
      // The library says only that the connection was ended, not why.
      if (!isOurs && this.#connection !== connection) throw this.#failure ?? error;
      const failure = this.#failureOf(error);
      if (this.#isReply(error)) this.#answeredAt = monotonicMs();
      // A server that answers nothing may be behind a connection that is cut.
      const isSilent = failure.code === 'timeout' && this.#answeredAt < sentAt;
      if (isSilent || failure.code === 'unreachable') {
        this.#drop(connection, failure, this.#movedTo(error));
      }
      throw this.#isForgotten(error) ? error : failure;
    } finally {
      this.#waiting--;
    }
  }

  async #inTime<T>(work: Promise<T>, code: NetworkFailure['code'], cause: string): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const fail = () => reject(new NetworkFailure(this.#place, code, cause));
      // After a stall of the process, the answer may have come and not be read yet.
      timer = setTimeout(() => setImmediate(fail), this.#options.timeoutMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #drop(
    connection: RedisConnection,
    failure: NetworkFailure,
    moved: RedisPlace | null = null,
  ): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    this.#warning = null;
    if (this.#recheck !== null) clearTimeout(this.#recheck);
    connection.destroy();
    this.#connectLater(failure, moved);
  }

  #connectLater(failure: NetworkFailure, moved: RedisPlace | null = null): void {
    if (this.#isClosed) return;
    this.#failure = failure;
    const { place } = this.#options;
    const places = [place, ...this.#nodes.map((node) => ({ ...place, ...node }))];
    this.#place = moved ?? places[this.#failures % places.length]!;
    const delayMs = Math.min(backOffMsMin * 2 ** this.#failures++, backOffMsMax);
    this.#retry = setTimeout(() => {
      // The failure is kept for the next command.
      this.connect().catch(() => {});
    }, delayMs);
  }

  /** Whether an attempt is for the first connection or for a later one. */
  get #phase(): ConnectionPhase {
    return this.#serverRun === '' ? 'first' : 'again';
  }

  #isForgotten(error: unknown): boolean {
    return this.#isReply(error) && error.message.startsWith('NOSCRIPT');
  }

  #isReply(error: unknown): error is Error {
    return error instanceof this.#library.ErrorReply;
  }

  /** The node that the error names; null: it names none. */
  #movedTo(error: unknown): RedisPlace | null {
    const node = this.#isReply(error) ? movedTo(error.message, this.#place.host) : null;
    return node === null ? null : { ...this.#options.place, ...node };
  }

  #failureOf(error: unknown, phase: ConnectionPhase = 'open'): NetworkFailure {
    const { passwordVariable, password } = this.#options;
    if (this.#isReply(error)) {
      const text = password ? error.message.replaceAll(password, '***') : error.message;
      return failureOfReply(this.#place, text, passwordVariable, password !== null);
    }
    return failureOfConnection(this.#place, error, this.#scheme, phase);
  }
}
