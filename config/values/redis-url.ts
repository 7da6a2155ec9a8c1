// Parses the URLs of Redis servers: redis://[USER@]HOST[:PORT][/DATABASE], or rediss:// for TLS; and of
// the Sentinels of one: redis-sentinel://[USER@]HOST[:PORT],...[/DATABASE]#MASTER, or rediss-sentinel://.
// Passwords are not read from URLs, because configs are printed, logged and compared between agents.

export interface RedisUrl {
  /** A name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** ACL user; '' for the default user. */
  readonly user: string;
  readonly hasPassword: boolean;
  readonly database: number;
  /** Null: the host is the server itself. */
  readonly sentinels: Sentinels | null;
}

/** They know the address of the server. */
export interface Sentinels {
  /** The name of the server at the Sentinels. */
  readonly master: string;
  readonly places: readonly { readonly host: string; readonly port: number }[];
}

const portDefault = 6379;
const sentinelPort = 26_379;
const sentinelsMax = 16;
const sentinelForm =
  /^(rediss?)-sentinel:\/\/([^@/?#]*@)?([^@/?#]+)((?:\/\d{0,4})?)#([A-Za-z0-9._-]{1,64})$/;
const hostName = /^(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9_.-]*[a-z0-9])?)$/i;

/** @returns null if `text` is not such a URL */
export function parseRedisUrl(text: string): RedisUrl | null {
  const [, scheme, user = '', hosts, path, master] = sentinelForm.exec(text) ?? [];
  if (master === undefined) return parseServer(text);
  const named = hosts!.split(',').map((host) => {
    const hasPort = /^[^:]+:\d+$|\]:\d+$/.test(host);
    return parseServer(`${scheme}://${user}${host}${hasPort ? '' : `:${sentinelPort}`}${path}`);
  });
  const places = named.flatMap((one) => (one === null ? [] : [{ host: one.host, port: one.port }]));
  if (places.length < named.length || places.length > sentinelsMax) return null;
  return { ...named[0]!, sentinels: { master, places } };
}

function parseServer(text: string): RedisUrl | null {
  const url = URL.parse(text);
  if (url === null || !['redis:', 'rediss:'].includes(url.protocol)) return null;
  if (!text.startsWith(`${url.protocol}//`) || !hostName.test(url.hostname)) return null;
  const path = /^(?:\/(\d{1,4})?)?$/.exec(url.pathname);
  if (path === null || url.search !== '' || url.hash !== '' || url.port === '0') return null;
  const user = decoded(url.username);
  if (user === null) return null;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? portDefault : Number(url.port),
    tls: url.protocol === 'rediss:',
    user,
    hasPassword: url.password !== '',
    database: Number(path[1] ?? 0),
    sentinels: null,
  };
}

/** The environment variable of a network's password; with _FILE, of a file that contains it. */
export function passwordVariable(network: string): string {
  return `DEDUP_PASSWORD_${network.toUpperCase().replaceAll('-', '_')}`;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
