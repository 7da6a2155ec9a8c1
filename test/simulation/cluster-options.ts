// What a simulated cluster is made of; all but the agents, the web and the seeds has a calm default.

import type { PageRequest } from '../../agent/core/protocol/effects.ts';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../agent/core/protocol/settings.ts';
import type { Weather } from './network.ts';
import type { OddPages } from './odd-pages.ts';
import type { Random } from './random.ts';
import type { RobotsLeads } from './robots-web.ts';
import type { Busy, Web } from './webs.ts';

export interface ClusterOptions {
  readonly ids: readonly AgentId[];
  /** Links of each page; a page is a URL such as `http://h1.test/p1`. */
  readonly web: Web;
  readonly seeds: readonly string[];
  readonly backups?: number;
  readonly quorum?: 'none' | 'majority';
  readonly settings?: (id: AgentId) => Partial<CoreSettings>;
  readonly seed?: number;
  readonly weather?: Weather;
  readonly delayMs?: number;
  /** How often a host's server answers a request for robots.txt with an error before it can. */
  readonly robotsTroubles?: (host: string) => number;
  /** What the server answers where it has enough (429, 503); null: it answers as ever. */
  readonly busy?: (request: PageRequest) => Busy | null;
  /** Whose robots.txt leads to whose; nobody's by default. */
  readonly leads?: RobotsLeads;
  /** Pages that are not answered at the first request; none by default. */
  readonly oddPages?: OddPages;
  /** Rest of each address; none by default. */
  readonly ipDelayMs?: number;
  /** The address of a host; its own by default. */
  readonly addressOf?: (host: string) => string;
  /** Pages of the whole crawl. */
  readonly pagesMax?: number;
  /** How fast each agent's clocks run. */
  readonly rate?: (id: AgentId) => number;
  /** How long the web takes for a request. */
  readonly requestMs?: (random: Random) => number;
  /** Units of work in a slice of the backlog (`work.ts`). */
  readonly sliceUnits?: number;
  /** Whether to keep what was sent, for tests that look at messages. */
  readonly keepSent?: boolean;
}
