// Parses the ZeroMQ endpoints of agents: `tcp://HOST:PORT`. Other transports do not reach other
// machines. The port must be fixed, because other agents must know it.

/** In `DATA/ID`: the endpoint at which the agent listens or last listened. */
export const ENDPOINT_FILE = 'agent.endpoint';

export interface Endpoint {
  /** An IPv4 address, a name, an IPv6 address in brackets, or `*` for all interfaces. */
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

/** @returns null if `text` is not a TCP endpoint with a port from 1 to 65535 */
export function parseEndpoint(text: string): Endpoint | null {
  const [, host, digits] = ENDPOINT.exec(text) ?? [];
  if (host === undefined || digits === undefined || digits.length > 5) return null;
  const port = Number(digits);
  if (port < 1 || port > 65_535) return null;
  return !host.startsWith('[') || URL.canParse(`http://${host}/`) ? { host, port } : null;
}

/** Whether the host means all interfaces, so that peers cannot connect to the endpoint. */
export function isWildcard(endpoint: Endpoint): boolean {
  return WILDCARDS.has(endpoint.host);
}

/** A normalized spelling, for comparison. */
export function endpointKey(text: string): string {
  return text.toLowerCase().replace('//localhost:', '//127.0.0.1:');
}
