// Which agents of the cluster run on other machines, and where the API of each is. An agent is
// elsewhere if its state is not in the data directory of this process.

import { isIP } from 'node:net';
import { parseEndpoint } from '../../../config/values/agent-endpoint.ts';
import { isLoopback } from '../../../config/values/listen-address.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { foundAgents } from '../common/query-files.ts';

export interface RemoteAgent {
  readonly id: string;
  /** The origin of its HTTP server. */
  readonly origin: string;
}

export interface Elsewhere {
  readonly agents: readonly RemoteAgent[];
  /** A sentence for each agent that serves no API to this machine. */
  readonly problems: readonly string[];
}

type Reported = Pick<AgentStatus, 'id' | 'dashboard'> & {
  readonly members: readonly Pick<AgentStatus['members'][number], 'id' | 'address'>[];
};

export function agentsElsewhere(statuses: readonly Reported[], dataDir: string): Elsewhere {
  const here = foundAgents(dataDir);
  const addresses = new Map(
    statuses.flatMap(({ members }) => members.map(({ id, address }) => [id, address] as const)),
  );
  const agents: RemoteAgent[] = [];
  const problems: string[] = [];
  for (const { id, dashboard } of statuses) {
    if (here.includes(id)) continue;
    const found = originOf(dashboard, addresses.get(id));
    if ('origin' in found) agents.push({ id, ...found });
    else problems.push(`${id} runs on another machine and ${found.why}`);
  }
  return { agents, problems };
}

/**
 * @param dashboard - its URL as the agent reports it
 * @param address - at which agents reach the agent
 */
function originOf(
  dashboard: string | undefined,
  address: string | undefined,
): { readonly origin: string } | { readonly why: string } {
  const url = dashboard === undefined ? null : URL.parse(dashboard);
  const host = parseEndpoint(address ?? '')?.host ?? '';
  if (url?.protocol !== 'http:') {
    return { why: 'serves no API there; set monitor.listen and monitor.tokens in its config' };
  }
  const served = bare(url.hostname);
  if (isLoopback(served) && host !== '' && !isLoopback(bare(host)) && host !== 'localhost') {
    return { why: `serves its API to that machine only; change monitor.listen ${url.host}` };
  }
  if (isUnspecified(served)) {
    if (host === '') return { why: `has no known address; change monitor.listen ${url.host}` };
    // It is reached at the address that the other agents use.
    url.hostname = host;
  }
  return { origin: url.origin };
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

function isUnspecified(host: string): boolean {
  return isIP(host) !== 0 && /^[0:.]+$/.test(host);
}
