// The preference list of the agents for a host. It follows from the config alone, so it includes
// agents that do not run.

import { type Config, membersOf } from '../../../config/config.ts';
import { type Placement, placementOf } from '../../composition/placement.ts';
import { parseCrawlUrl } from '../../url/crawl-url.ts';

/** The preference lists over all configured agents. */
export function configuredPlacement(config: Config): Placement {
  return placementOf(config.cluster, membersOf(config));
}

/** @returns the host of a URL, or a bare host, in canonical form; null if the text is neither */
export function hostOf(text: string): string | null {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const bareIpv6 = !isUrl && /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text);
  if (!isUrl && /[\s/?#@\\]/.test(text)) return null;
  const url = parseCrawlUrl(isUrl ? text : bareIpv6 ? `http://[${text}]/` : `http://${text}/`);
  return 'refused' in url ? null : url.host;
}
