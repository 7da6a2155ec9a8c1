// The preference list of the configured agents for a host. It follows from the config alone, so it
// includes agents that do not run.

import { type Config, membersOf } from '../../../config/config.ts';
import { type Placement, placementOf } from '../../composition/placement.ts';
import { parseCrawlUrl } from '../../url/crawl-url.ts';
import { Refusal } from './exit-code.ts';
import { programName } from './output.ts';

/**
 * The preference lists over all configured agents.
 *
 * @throws Refusal if the config has only contacts
 */
export function configuredPlacement(config: Config): Placement {
  const members = membersOf(config);
  if (members.length > 0) return placementOf(config.cluster, members);
  const why = 'the config has contacts and no list of agents, so owners cannot be computed from it';
  throw new Refusal(4, `${why}; ask the running agents with: ${programName()} explain CONFIG URL`);
}

/** @returns the host of a URL, or a bare host, in canonical form; null if the text is neither */
export function hostOf(text: string): string | null {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const bareIpv6 = !isUrl && /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text);
  if (!isUrl && /[\s/?#@\\]/.test(text)) return null;
  const url = parseCrawlUrl(isUrl ? text : bareIpv6 ? `http://[${text}]/` : `http://${text}/`);
  return 'refused' in url ? null : url.host;
}
