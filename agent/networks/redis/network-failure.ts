// The error of every operation on a network's Redis. Its message names the network, the server
// without secrets, and the cause with a remedy where there is one.

/** The server of a network. */
export interface RedisPlace {
  readonly network: string;
  readonly host: string;
  readonly port: number;
}

/**
 * - `refused`: the server must not be used as it is; the message has the remedy.
 * - `unreachable`: there is no usable connection; the next attempt follows by itself.
 * - `timeout`: no answer in time. The operation may have taken place.
 * - `failed`: the server answered with an error.
 */
export type NetworkFailureCode = 'refused' | 'unreachable' | 'timeout' | 'failed';

export class NetworkFailure extends Error {
  readonly code: NetworkFailureCode;
  readonly network: string;
  /** The server and the cause. */
  readonly why: string;

  constructor({ network, host, port }: RedisPlace, code: NetworkFailureCode, cause: string) {
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    super(`network ${network}: Redis at ${address}: ${cause}`);
    this.why = `${address}: ${cause}`;
    this.name = 'NetworkFailure';
    this.code = code;
    this.network = network;
  }
}

/** The cause if a key has another type than the command needs, or a stream has no next id. */
export const wrongType = 'a key of the crawl was written by another program, and is deleted';

const wrongPassword = 'the password or the user is wrong';
const lacksRight = 'the ACL of the user lacks a right that docs/NETWORKS.md lists';

/** What an error reply of Redis begins with, and what it means. */
const replies: readonly (readonly [prefix: string, code: NetworkFailureCode, cause: string])[] = [
  ['WRONGPASS', 'refused', wrongPassword],
  ['ERR invalid password', 'refused', wrongPassword],
  ['ERR AUTH', 'refused', 'it has no password, but one was given'],
  ['ERR Client sent AUTH', 'refused', 'it has no password, but one was given'],
  ['NOAUTH', 'refused', 'it requires a password'],
  ['NOPERM', 'refused', lacksRight],
  ['ERR The user executing the script', 'refused', lacksRight],
  ['ERR unknown command', 'refused', 'a command that networks need is renamed or missing there'],
  ['ERR DB index', 'refused', 'the database number of its URL does not exist'],
  ['READONLY', 'unreachable', 'it has become a read-only replica'],
  ['LOADING', 'unreachable', 'it is still loading its file'],
  ['MASTERDOWN', 'unreachable', 'its master is down'],
  ['ERR SELECT is not allowed', 'refused', 'it is in Cluster mode, which has only database 0'],
  ['MOVED', 'unreachable', 'another node of its cluster has the keys'],
  ['CLUSTERDOWN', 'unreachable', 'its cluster is down'],
  ['ASK', 'failed', 'its cluster is moving the keys to another node'],
  ['TRYAGAIN', 'failed', 'its cluster is moving the keys to another node'],
  ['OOM', 'failed', 'its memory is full; raise maxmemory'],
  ['MISCONF', 'failed', 'it cannot save its file; free space on its disk'],
  ['WRONGTYPE', 'failed', wrongType],
  ['ERR The stream has exhausted', 'failed', wrongType],
  ['BUSY', 'failed', 'it is busy with a script'],
];

/** Characters of an error reply that are shown. */
const shownLengthMax = 200;

/** Error replies that name the command or the key. */
const tellingReplies = ['NOPERM', 'ERR The user executing the script', 'ERR unknown command'];

/**
 * @param variable - the environment variable of the password, for the remedy
 * @param isSet - whether a password was given
 */
export function failureOfReply(
  place: RedisPlace,
  text: string,
  variable: string,
  isSet: boolean,
): NetworkFailure {
  const known = replies.find(([prefix]) => text.startsWith(prefix));
  // The arguments, which Redis repeats for an unknown command, may be those of AUTH.
  const told = shown(text.split(/,? with args\b/, 1)[0]!);
  if (known === undefined) return new NetworkFailure(place, 'failed', `answered ${told}`);
  const [prefix, code, meaning] = known;
  const isMissing = !isSet && meaning === wrongPassword;
  const cause = isMissing ? `${variable} is not set, or the user is wrong` : meaning;
  const isSecret = meaning.includes('password');
  const remedy = isSecret ? `; set ${variable} or ${variable}_FILE` : '';
  const reply = tellingReplies.includes(prefix) ? told : prefix;
  return new NetworkFailure(place, code, `${cause}${remedy} (${reply})`);
}

/** What an unknown server wrote must not break a line of the log. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, shownLengthMax));
}

/** How the server is connected to, for remedies that change its URL. */
export interface UrlScheme {
  readonly isTls: boolean;
  readonly plain: string;
  readonly tls: string;
}

export function urlScheme(isTls: boolean, hasSentinels: boolean): UrlScheme {
  const end = hasSentinels ? '-sentinel://' : '://';
  return { isTls, plain: `redis${end}`, tls: `rediss${end}` };
}

/**
 * In which an error came: in the first attempts, in one after the server was connected to, or in an
 * open connection. Only the first attempts leave it open whether the scheme of the URL is right, and
 * only attempts have a TLS handshake.
 */
export type ConnectionPhase = 'first' | 'again' | 'open';

/** @param error - of a socket, of TLS or of the client library */
export function failureOfConnection(
  place: RedisPlace,
  error: unknown,
  scheme: UrlScheme,
  phase: ConnectionPhase,
): NetworkFailure {
  if (error instanceof NetworkFailure) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const name = typeof code === 'string' ? code : '';
  const text = typeof message === 'string' ? message : String(error);
  const refuse = (cause: string) => new NetworkFailure(place, 'refused', cause);
  const isHandshake = phase !== 'open';
  if (
    isHandshake &&
    /wrong.version.number|packet length too long|EPROTO/i.test(`${name} ${text}`)
  ) {
    return refuse(`it does not speak TLS; write ${scheme.plain} or enable TLS there`);
  }
  if (/^(CERT_|ERR_TLS_CERT|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)/.test(name)) {
    const remedy = 'name its authority in NODE_EXTRA_CA_CERTS, and use the name of the certificate';
    return refuse(`its certificate is refused (${name}); ${remedy}`);
  }
  if (isHandshake && /^ERR_SSL|^ERR_TLS/.test(name)) return refuse(`TLS fails (${name})`);
  if (/RESP type/i.test(text)) return refuse('it is not a Redis server; check host and port');
  if (/closed unexpectedly|ECONNRESET|EPIPE|UNEXPECTED_EOF/.test(`${name} ${text}`)) {
    const hint =
      scheme.isTls || phase !== 'first' ? '' : `; if it requires TLS, write ${scheme.tls}`;
    return new NetworkFailure(place, 'unreachable', `the connection was closed${hint}`);
  }
  if (/Connection timeout/.test(text)) {
    return new NetworkFailure(place, 'unreachable', 'no connection in time');
  }
  return new NetworkFailure(place, 'unreachable', name === '' ? shown(text) : name);
}
