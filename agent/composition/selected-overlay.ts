// Selects the overlay of an agent. The overlay and the preference lists belong together: an agent
// that knows only its neighbours has lists of their hosts alone.

import { findCollision } from '../../assignment/collision.ts';
import { KnownIdentifiers } from '../../assignment/known-identifiers.ts';
import { Ring } from '../../assignment/ring.ts';
import type { Config } from '../../config/config.ts';
import type { CoreParts } from '../core/assembly.ts';
import type { CoreSettings } from '../core/protocol/settings.ts';
import { KademliaOverlay } from '../kademlia/kademlia-overlay.ts';
import type { FirstContactsOptions } from '../kademlia/routing/first-contacts.ts';
import { chance } from '../runtime/random.ts';
import { ringPointsOf, sha1 } from './placement.ts';

/** The settings without those that follow from the overlay. */
export type PlainSettings = Omit<CoreSettings, 'build' | 'collision'>;

/** What an agent knows of others beside the config. */
type Known = Pick<FirstContactsOptions, 'kept' | 'local'>;

/** The core's settings, and its overlay unless every agent knows all others. */
export function withOverlay(
  { cluster }: Pick<Config, 'cluster'>,
  settings: PlainSettings,
  known: Known,
): Pick<CoreParts, 'settings' | 'overlay'> {
  if (cluster.overlay === 'kademlia') return withKademlia(cluster, settings, known);
  const points = ringPointsOf(cluster);
  return {
    settings: {
      ...settings,
      build: (members) => new Ring(members, points),
      collision: (members) => findCollision(members, points),
    },
  };
}

function withKademlia(
  { kademlia, contacts }: Config['cluster'],
  settings: PlainSettings,
  addresses: Known,
): Pick<CoreParts, 'settings' | 'overlay'> {
  const { ids, bucketSize, concurrency, neighbourhood } = kademlia;
  const { id, capacity, address, fingerprintHash, backups } = settings;
  const { heartbeatMs, suspectAfterMs } = settings;
  const listed = settings.configured.map((peer) => peer.address);
  const known = new KnownIdentifiers({ sha1, ids });
  const overlay = new KademliaOverlay({
    self: { id, capacity, address },
    sha1,
    identifiersOf: (member) => known.of(member),
    contacts: contacts.length > 0 ? contacts : listed,
    ...{ fingerprintHash, bucketSize, concurrency, neighbourhood, backups },
    ...{ heartbeatMs, suspectAfterMs, random: chance, ...addresses },
    countsPages: settings.pagesMax !== null,
  });
  const build: CoreSettings['build'] = (members) => overlay.placement(members);
  // Two agents have no identifier in common: SHA-1 of different names.
  return { settings: { ...settings, build, collision: () => null }, overlay };
}
