// Computes the current owner of each host from the state files: the preference lists over the last
// known view. The owner decides between files that claim the same URL or host, since the file of a
// dead agent claims its hosts for ever.

import { type Config, membersOf } from '../../../config/config.ts';
import { placementOf } from '../../composition/placement.ts';
import type { StateFile } from '../common/query-files.ts';
import { type EventHistory, historyOf, lastView } from './query-members.ts';

export interface Owners {
  /** The last known view, sorted. */
  readonly view: readonly string[];
  /** Whether the file with the latest event says that the crawl is complete. */
  readonly complete: boolean;
  /** One for each file, in the order of the files. */
  readonly histories: readonly EventHistory[];
  /** Copies of each host in addition to the owner's, if there are enough agents. */
  readonly backups: number;
  /** Undefined if the view is empty. */
  owner(host: string): string | undefined;
  /** The owner and the backups. */
  holders(host: string): readonly string[];
}

type OwnersConfig = Pick<Config, 'cluster'>;

export function ownersOf(files: readonly StateFile[], config: OwnersConfig): Owners {
  const histories = files.map(historyOf);
  const { last, view, capacities } = lastView(histories, config.cluster.overlay);
  // An agent that is no longer in the config keeps its hosts.
  const configured = new Map(membersOf(config).map(({ id, capacity }) => [id, capacity]));
  const members = view.map((id) => {
    return { id, capacity: capacities.get(id) ?? configured.get(id) ?? 1 };
  });
  const backups = last?.backups ?? config.cluster.backups;
  const lists = members.length === 0 ? null : placementOf(config.cluster, members);
  return {
    view,
    complete: last?.end === 'complete',
    histories: histories,
    backups,
    owner: (host) => lists?.owner(host),
    holders: (host) => lists?.order(host, backups + 1) ?? [],
  };
}

/** Number of agents that have a copy of each host, without its owner. */
export function copiesOf(backups: number, view: readonly string[]): number {
  return Math.max(Math.min(backups, view.length - 1), 0);
}
