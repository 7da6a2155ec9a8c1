// The preference list of the agents for a host. It follows from the config alone, so it includes
// agents that do not run. Only if the config does not list the agents, the running ones are asked.

import { type Config, type ConfiguredMember, membersOf } from '../../../config/config.ts';
import { type Placement, placementOf } from '../../composition/placement.ts';
import { parseCrawlUrl } from '../../url/crawl-url.ts';
import { Refusal } from './exit-code.ts';
import { askedOf } from './load-config.ts';
import { programName } from './output.ts';
import { walk } from './walk.ts';

/** The preference lists over all configured agents. */
export function configuredPlacement(config: Config): Placement {
  return placementOf(config.cluster, membersOf(config));
}

/**
 * The agents of the config or, if it has only contacts, those that run.
 *
 * @throws Refusal if it has only contacts and no agent answers
 */
export async function agentsOf(config: Config): Promise<readonly ConfiguredMember[]> {
  const members = membersOf(config);
  if (members.length > 0) return members;
  const { visited } = await walk(askedOf(config, []), { verb: 'status', args: [] });
  if (visited.size > 0) return [...visited.values()].map(({ id, capacity }) => ({ id, capacity }));
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
