// ZeroMQ endpoints of agents: `tcp://HOST:PORT`. Only TCP, since an agent's peers are on other
// machines, and only a fixed port, since every member must be able to compute where the others are.
// The schema refuses what does not parse; the cross-field rules and `launch` ask for the parts.

export interface Endpoint {
  /** IPv4, name, or IPv6 in brackets; `*` for every interface. */
  readonly host: string;
  readonly port: number;
}

const ENDPOINT =
  /^tcp:\/\/(\*|\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?):(\d+)$/;
const WILDCARDS: ReadonlySet<string> = new Set([
  '*',
  '0.0.0.0',
  '[::]',
  '[::0]',
  '[0:0:0:0:0:0:0:0]',
]);

/** @returns the parts, or null where `text` is no TCP endpoint with a port of 1 to 65535. */
export function parseEndpoint(text: string): Endpoint | null {
  const [, host, digits] = ENDPOINT.exec(text) ?? [];
  if (host === undefined || digits === undefined || digits.length > 5) return null;
  const port = Number(digits);
  if (port < 1 || port > 65_535) return null;
  return !host.startsWith('[') || URL.canParse(`http://${host}/`) ? { host, port } : null;
}

/** Whether a socket bound there listens on every interface, so that nobody can connect *to* it. */
export function isWildcard(endpoint: Endpoint): boolean {
  return WILDCARDS.has(endpoint.host);
}

/** One spelling for each endpoint, to compare two of them. */
export function endpointKey(text: string): string {
  return text.toLowerCase().replace('//localhost:', '//127.0.0.1:');
}
