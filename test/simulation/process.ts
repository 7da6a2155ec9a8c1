// A process of a simulated agent: a real core and real visits over the real store. It counts the
// work of its statements and look-ups. `cluster.ts` creates it at each start.

import { Core } from '../../agent/core/core.ts';
import { BOUNDS } from '../../agent/core/protocol/bounds.ts';
import { Effects } from '../../agent/core/protocol/effects.ts';
import type { UrlItem } from '../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../agent/core/protocol/settings.ts';
import { admission } from '../../agent/frontier/admission.ts';
import { Visits } from '../../agent/frontier/visits/visits.ts';
import { openInMemory } from '../../agent/storage/file/database.ts';
import { TAIL_BOUNDS, type TailBounds } from '../../agent/storage/rows/event-tails.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { DirectiveTable } from '../../agent/storage/tables/directive-table.ts';
import type { UrlScope } from '../../agent/url/request-scope.ts';
import { splitIdentity } from '../../agent/url/url-key.ts';
import { type KademliaPlan, kademliaOf } from './kademlia-plan.ts';
import type { Places } from './places.ts';
import { readRobots } from './robots-web.ts';
import type { Disk } from './running.ts';
import { Work } from './work.ts';

export const HEARTBEAT_MS = 100;
export const THREADS = 4;

export function newDisk(): Disk {
  return { db: openInMemory(), image: null, watched: false };
}

export function processOf(
  disk: Disk,
  settings: CoreSettings,
  options: {
    readonly hostDelayMs: number;
    readonly seeds: readonly UrlItem[];
    readonly sliceUnits: number;
    readonly scope: UrlScope;
    readonly kademlia: KademliaPlan | null;
    readonly places: Places;
  },
) {
  const { hostDelayMs, seeds, sliceUnits, scope } = options;
  const work = new Work();
  const db = work.counted(disk.db);
  const overlay = options.kademlia && kademliaOf(settings, options.kademlia, disk, options.places);
  const build = overlay ? overlay.placement.bind(overlay) : settings.build;
  const store = new SqliteStore(db, {
    durability: 'process',
    hostDelayMs,
    tails: tailsOf(settings),
  });
  const effects = new Effects();
  const core = new Core({
    settings: { ...settings, build: (members) => work.countedRing(build(members)) },
    store,
    effects,
    ...(overlay && { overlay }),
    slice: work.slice(sliceUnits),
    hostOf: (url) => splitIdentity(url)?.host ?? null,
    admit: admission({
      depthPerHost: 1000,
      urlLength: 2048,
      repeatedSegments: 1000,
      everyPort: false,
    }),
    inScope: (host, item) => scope.admits(host, item),
    seeds,
    directives: new DirectiveTable(disk.db),
    visits: (right, orders, events, budgets, asks) =>
      new Visits({
        ...{ store, effects, right, directives: orders, events, scope, budgets, asks },
        threads: THREADS,
        delays: { crawlDelayMaxMs: 30_000, responseTimeFactor: 0 },
        chance: () => 0.5,
        stalePages: null,
        heartbeatMs: HEARTBEAT_MS,
        pagesPerHost: 10_000,
        robots: true,
        keepLinks: false,
        parseRobots: readRobots,
      }),
  });
  return { store, effects, core, work };
}

/** An agent with small row messages also reads few rows and keeps few rows that others lack. */
function tailsOf({ bounds: { rowEvents } }: CoreSettings): TailBounds {
  if (rowEvents >= BOUNDS.rowEvents) return TAIL_BOUNDS;
  return {
    atHand: 4 * rowEvents,
    rowsPerTurn: rowEvents,
    tailEvents: rowEvents,
    backlogEvents: 16 * rowEvents,
    unusedMs: 1000,
  };
}
