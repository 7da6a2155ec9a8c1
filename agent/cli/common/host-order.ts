// The preference list of the agents for a host. It follows from the config alone, so it includes
// agents that do not run. If agents may join through contacts, the running ones are asked as well.

import { type Config, type ConfiguredMember, membersOf } from '../../../config/config.ts';
import { type Placement, placementOf } from '../../composition/placement.ts';
import { parseCrawlUrl } from '../../url/crawl-url.ts';
import { Refusal } from './exit-code.ts';
import { askedOf } from './load-config.ts';
import { programName, say } from './output.ts';
import { walk } from './walk.ts';

/** The preference lists over all configured agents. */
export function configuredPlacement(config: Config): Placement {
  return placementOf(config.cluster, membersOf(config));
}

/**
 * The agents of the config and, if it has contacts, others that run.
 *
 * @throws Refusal if it has only contacts and no agent answers
 */
export async function agentsOf(config: Config): Promise<readonly ConfiguredMember[]> {
  const { agents, contacts } = config.cluster;
  const members = membersOf(config);
  if (contacts.length === 0) return members;
  const listed = typeof agents === 'number' ? [] : agents;
  const { visited } = await walk(askedOf(config, listed), { verb: 'status', args: [] });
  const isNew = ({ id }: ConfiguredMember) => !members.some((member) => member.id === id);
  const others = [...visited.values()].filter(isNew).map(({ id, capacity }) => ({ id, capacity }));
  if (visited.size > 0) return [...members, ...others];
  if (members.length > 0) {
    say('no agent answers: only the agents that the config lists are counted');
    return members;
  }
  const why = 'the config has contacts and no list of agents, and no agent answers';
  throw new Refusal(4, `${why}; for a URL, see: ${programName()} explain CONFIG URL`);
}

/** @returns the host of a URL, or a bare host, in canonical form; null if the text is neither */
export function hostOf(text: string): string | null {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const bareIpv6 = !isUrl && /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text);
  if (!isUrl && /[\s/?#@\\]/.test(text)) return null;
  const url = parseCrawlUrl(isUrl ? text : bareIpv6 ? `http://[${text}]/` : `http://${text}/`);
  return 'refused' in url ? null : url.host;
}
