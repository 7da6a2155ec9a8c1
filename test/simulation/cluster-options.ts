// Options of a simulated cluster. All have a default without faults, except the agents, the web and
// the seeds.

import type { PageRequest } from '../../agent/core/protocol/effects.ts';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../agent/core/protocol/settings.ts';
import type { KademliaPlan } from './kademlia-plan.ts';
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
  /**
   * Number of requests for robots.txt that a host's server answers with an error before it serves
   * the file.
   */
  readonly robotsTroubles?: (host: string) => number;
  /** The answer of a busy (429, 503) or broken server (502); null: the server answers normally. */
  readonly busy?: (request: PageRequest) => Busy | null;
  /** By host, the host to which its robots.txt redirects; empty by default. */
  readonly leads?: RobotsLeads;
  /** Pages that do not answer the first request; none by default. */
  readonly oddPages?: OddPages;
  /** Delay between two requests to an address; none by default. */
  readonly ipDelayMs?: number;
  /** The address of a host; its own by default. */
  readonly addressOf?: (host: string) => string;
  /** Page limit of the whole crawl. */
  readonly pagesMax?: number;
  /** How fast the clocks of each agent run. */
  readonly rate?: (id: AgentId) => number;
  /** Duration of a web request. */
  readonly requestMs?: (random: Random) => number;
  /** Units of work in a slice of the backlog (`work.ts`). */
  readonly sliceUnits?: number;
  /** Whether to keep the messages that were sent, for tests that inspect them. */
  readonly keepSent?: boolean;
  /** Whether messages are encoded as on the wire, except most heartbeats; true by default. */
  readonly framed?: boolean;
  /** The agents form the Kademlia overlay instead of the ring. */
  readonly kademlia?: KademliaPlan;
}
