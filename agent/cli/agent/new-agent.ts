// An agent that is not in the config (`ubiring agent CONFIG --id ID --listen ENDPOINT`): it joins
// through the contacts of the overlay kademlia.

import type { Config } from '../../../config/config.ts';
import { agentId, peerEndpoint } from '../../../config/keys/leaves.ts';
import type { LoadResult } from '../common/load-config.ts';
import { say } from '../common/output.ts';

/** The config with the agent. Prints what is wrong with it, if anything is. */
export function withNewAgent(config: Config, id: string, listen: string): LoadResult<Config> {
  const { contacts, agents } = config.cluster;
  const wrong = problemOf(config, id, listen);
  if (wrong !== null) {
    say(wrong);
    return { ok: false, code: 2 };
  }
  const others = typeof agents === 'number' ? [] : agents;
  const entry = { id, listen, address: listen, capacity: 1 };
  if (!contacts.includes(listen)) {
    say(`${id}: joins when one of ${contacts.join(', ')} answers`);
  }
  return {
    ok: true,
    config: { ...config, cluster: { ...config.cluster, agents: [...others, entry] } },
  };
}

function problemOf({ cluster }: Config, id: string, listen: string): string | null {
  if (cluster.contacts.length === 0) {
    return '--listen needs cluster.contacts in the config (with cluster.overlay: kademlia)';
  }
  if (typeof cluster.agents !== 'number' && cluster.agents.some((agent) => agent.id === id)) {
    return `agent ${id} is in the config, which has its endpoint: leave out --listen`;
  }
  const name = agentId.safeParse(id);
  if (!name.success) return `--id ${id}: ${name.error.issues[0]!.message}`;
  const endpoint = peerEndpoint.safeParse(listen);
  return endpoint.success ? null : `--listen ${listen}: ${endpoint.error.issues[0]!.message}`;
}
