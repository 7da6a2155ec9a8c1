// Which agents of the cluster run on other machines, and where the API of each is. An agent is
// elsewhere if its state is not in the data directory of this process, or is stale there.

import { isIP } from 'node:net';
import { isWildcard, parseEndpoint } from '../../../config/values/agent-endpoint.ts';
import { isLoopback, parseListenAddress } from '../../../config/values/listen-address.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { foundAgents } from '../common/query-files.ts';

export interface RemoteAgent {
  readonly id: string;
  /** The origin of its HTTP server. */
  readonly origin: string;
}

export interface Elsewhere {
  readonly agents: readonly RemoteAgent[];
  /** All that answer, also those that cannot be asked for rows. */
  readonly running: readonly string[];
  /** A sentence for each agent whose rows cannot be asked for. */
  readonly problems: readonly string[];
}

type Reported = Pick<AgentStatus, 'id' | 'dashboard'> & {
  readonly members: readonly Pick<AgentStatus['members'][number], 'id' | 'address'>[];
};

interface Cluster {
  /** The agents that answered. */
  readonly agents: readonly Reported[];
  /** Those that did not, and may have a state. */
  readonly silent: readonly string[];
  /** See `askStatusAndStale`. */
  readonly stale: readonly string[];
}

type Known = Pick<ResolvedConfig, 'agent' | 'cluster' | 'monitor'>;

export function agentsElsewhere(
  { agents: statuses, silent, stale }: Cluster,
  config: Known,
): Elsewhere {
  const here = foundAgents(config.agent.dataDir).filter((id) => !stale.includes(id));
  const members = statuses.flatMap((one) => one.members.map(({ id }) => id));
  const named = hostsIn(config);
  const agents: RemoteAgent[] = [];
  const running: string[] = [];
  const problems: string[] = [];
  for (const { id, dashboard } of statuses) {
    if (here.includes(id)) continue;
    running.push(id);
    const found = originOf(dashboard, hostsOf(id, statuses, config), named);
    if ('origin' in found) agents.push({ id, ...found });
    else problems.push(`${id} runs on another machine and ${found.why}`);
  }
  for (const id of silent) {
    // Others own the hosts of an agent that is no member. If nobody answers, all may have been members.
    const isMember = statuses.length === 0 || members.includes(id);
    if (isMember && !here.includes(id)) problems.push(silentText(id));
  }
  return { agents, running, problems };
}

export function silentText(id: string): string {
  return `${id}: it does not answer, and its rows may be missing; look at its machine`;
}

/** At which hosts the agent is reached: first that of the config, then those that others use. */
function hostsOf(id: string, statuses: readonly Reported[], { cluster }: Known): string[] {
  const entries = cluster.agents.filter((entry) => entry.id === id);
  const members = statuses.flatMap((status) => (status.id === id ? [] : status.members));
  const reached = members.filter((member) => member.id === id);
  return [...entries, ...reached].flatMap(({ address }) => hostOf(address));
}

/** All hosts that the config names. */
function hostsIn({ cluster, monitor }: Known): string[] {
  const entries = cluster.agents.flatMap(({ listen, address }) => [listen, address]);
  const own = monitor.listen === null ? null : parseListenAddress(monitor.listen);
  return [...[...entries, ...cluster.contacts].flatMap(hostOf), ...(own ? [own.host] : [])];
}

function hostOf(address: string): string[] {
  const endpoint = parseEndpoint(address);
  return endpoint === null || isWildcard(endpoint) ? [] : [endpoint.host];
}

/**
 * An agent may be hostile, and must not choose where others send requests: the host must be one of the
 * agent, or one that the config names.
 *
 * @param dashboard - its URL as the agent reports it
 * @param hosts - at which agents reach the agent
 * @param named - the hosts of the config
 */
function originOf(
  dashboard: string | undefined,
  hosts: readonly string[],
  named: readonly string[],
): { readonly origin: string } | { readonly why: string } {
  const url = dashboard === undefined ? null : URL.parse(dashboard);
  if (url?.protocol !== 'http:') {
    return {
      why: 'serves no API there; set monitor.listen and monitor.tokens, or look at its log',
    };
  }
  const [host] = hosts;
  const served = bare(url.hostname);
  if (isUnspecified(served)) {
    if (host === undefined)
      return { why: `has no known address; change monitor.listen ${url.host}` };
    // It is reached at the address that the other agents use.
    url.hostname = host;
    return { origin: url.origin };
  }
  const isOnlyThere = hosts.length > 0 && !hosts.some((one) => isLoopback(bare(one)));
  if (isLoopback(served) && isOnlyThere) {
    return { why: `serves its API to that machine only; change monitor.listen ${url.host}` };
  }
  if (![...hosts, ...named].some((one) => isSame(bare(one), served))) {
    const all = `0.0.0.0:${url.port || 80}`;
    const where = host === undefined ? '' : `, not at its address ${host}`;
    return { why: `serves its API at ${url.host}${where}; change monitor.listen there to ${all}` };
  }
  return { origin: url.origin };
}

function isSame(host: string, served: string): boolean {
  const name = URL.parse(`http://${isIP(host) === 6 ? `[${host}]` : host}/`)?.hostname;
  if (host === 'localhost') return ['localhost', '127.0.0.1', '::1'].includes(served);
  return name !== undefined && bare(name) === served;
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

function isUnspecified(host: string): boolean {
  return isIP(host) !== 0 && /^[0:.]+$/.test(host);
}
