// Builds the core of an agent, with its visits, from the config and the state file. The core makes
// all decisions and does no network I/O.

import type { AgentEntry, Config } from '../../config/config.ts';
import { Core } from '../core/core.ts';
import type { Networks } from '../core/crawl/networks-port.ts';
import type { Effects, Peer } from '../core/protocol/effects.ts';
import { admission } from '../frontier/admission.ts';
import { Visits } from '../frontier/visits/visits.ts';
import { chance } from '../runtime/random.ts';
import { turnSlice } from '../runtime/timed-slice.ts';
import type { Connection } from '../storage/encoding/connection.ts';
import type { SqliteStore } from '../storage/sqlite-store.ts';
import { DirectiveTable } from '../storage/tables/directive-table.ts';
import { KeptAddresses } from '../storage/tables/kept-addresses.ts';
import type { RequestScope } from '../url/request-scope.ts';
import { splitIdentity } from '../url/url-key.ts';
import { robotsParser, seedsOf, settingsOf } from './config-parts.ts';
import { withOverlay } from './selected-overlay.ts';

export interface ProtocolParts {
  readonly config: Config;
  readonly entry: AgentEntry;
  readonly agents: readonly AgentEntry[];
  /** Agents that must join before the crawl begins; without them the agent exits with 5. */
  readonly awaits?: readonly string[];
  /** The members at an earlier end of the crawl, which the agent tells others. */
  readonly completedBy?: readonly string[] | undefined;
  /** The other agents that run in the same data directory now. */
  readonly local?: (() => readonly Peer[]) | undefined;
  readonly state: { readonly db: Connection };
  readonly scope: RequestScope;
  /** Other networks that crawl the same URLs. */
  readonly networks?: Networks | undefined;
}

export function coreOf(parts: ProtocolParts, store: SqliteStore, effects: Effects): Core {
  const { config, scope } = parts;
  const seeds = seedsOf(config);
  const kept = new KeptAddresses(parts.state.db);
  return new Core({
    ...withOverlay(config, settingsOf(parts), { kept, local: parts.local }),
    store,
    effects,
    slice: turnSlice(),
    hostOf: (url) => splitIdentity(url)?.host ?? null,
    admit: admission({ ...config.limits, everyPort: config.http.allowPrivateAddresses }),
    inScope: (host, item) => scope.admits(host, item),
    // A crawl that has ended knows all seeds, but not each agent does.
    seeds: parts.completedBy ? [] : seeds,
    directives: new DirectiveTable(parts.state.db),
    networks: parts.networks,
    visits: (right, directives, events, budgets, asks) =>
      new Visits({
        ...{ store, effects, right, directives, events, scope, budgets, asks },
        networks: parts.networks,
        threads: config.agent.threads,
        heartbeatMs: config.cluster.failureDetector.heartbeatMs,
        delays: config.politeness,
        chance,
        pagesPerHost: config.limits.pagesPerHost,
        stalePages: config.limits.stalePages,
        robots: config.politeness.robots,
        keepLinks: config.archive.links,
        parseRobots: robotsParser(config.http.userAgent),
      }),
  });
}
