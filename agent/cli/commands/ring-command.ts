// `ubiring ring`: shows how the ring, or the key space of Kademlia, is divided between the agents of
// the config and those that have joined through contacts. The share of an agent is the fraction of
// hosts that it owns; the expected share is its fraction of the capacity. Directives in the state files
// of the data directory are counted.

import { type Config, type ConfiguredMember, membersOf } from '../../../config/config.ts';
import { placementOf, placesOf } from '../../composition/placement.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, load, shownCrawl } from '../common/load-config.ts';
import { print, programName, renderTable } from '../common/output.ts';
import { directedMembers } from '../state-files/stored-directives.ts';
import { agentsOf } from './known-agents.ts';

/** The output of `--json`. */
export interface RingReport {
  readonly overlay: Config['cluster']['overlay'];
  /** Absent with the overlay kademlia. */
  readonly replicas?: number;
  /** Present with the overlay kademlia. */
  readonly ids?: number;
  readonly agents: readonly {
    readonly id: string;
    readonly capacity: number;
    /** Ring points, or identifiers. */
    readonly points: number;
    /** Fraction of all hosts. */
    readonly share: number;
    /** Fraction of the capacity of all agents. */
    readonly expected: number;
  }[];
  /** Spread of share / expected over the agents; 1 is the expected share. Null: all are drained. */
  readonly balance: { readonly sigma: number; readonly min: number; readonly max: number } | null;
}

/** Length of the longest bar in characters. */
const barLength = 40;

export async function ring(
  file: string,
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const report = ringReport(config, directedMembers(config, await agentsOf(config)));
  await print(flags.json ? `${JSON.stringify(report)}\n` : `${ringText(report, config)}\n`);
  return 0;
}

export function ringReport(
  config: Config,
  members: readonly ConfiguredMember[] = membersOf(config),
): RingReport {
  const { overlay, replicas, kademlia } = config.cluster;
  const shares = placementOf(config.cluster, members).shares();
  const points = placesOf(config.cluster, members);
  const capacity = members.reduce((sum, member) => sum + member.capacity, 0);
  const agents = members.map((member) => ({
    ...member,
    points: points.get(member.id) ?? 0,
    share: shares.get(member.id) ?? 0,
    expected: capacity === 0 ? 0 : member.capacity / capacity,
  }));
  const placed = agents.filter((agent) => agent.capacity > 0);
  const ratios = placed.map(({ share, expected }) => share / expected);
  const variance = ratios.reduce((sum, ratio) => sum + (ratio - 1) ** 2, 0) / ratios.length;
  return {
    overlay,
    ...(overlay === 'ring' ? { replicas } : { ids: kademlia.ids }),
    agents,
    balance:
      placed.length === 0
        ? null
        : { sigma: Math.sqrt(variance), min: Math.min(...ratios), max: Math.max(...ratios) },
  };
}

export function ringText({ replicas, ids, agents, balance }: RingReport, config: Config): string {
  const largest = Math.max(...agents.map(({ share }) => share));
  const table = renderTable(
    [
      { title: 'agent' },
      { title: 'capacity', align: 'right' },
      { title: ids === undefined ? 'points' : 'identifiers', align: 'right' },
      { title: 'share', align: 'right' },
      { title: 'of expected', align: 'right' },
      { title: '' },
    ],
    agents.map(({ id, capacity, points, share, expected }) => [
      id,
      String(capacity),
      String(points),
      percent(share),
      capacity === 0 ? '' : percent(share / expected),
      capacity === 0 ? '' : '█'.repeat(Math.max(1, Math.round((barLength * share) / largest))),
    ]),
  );
  const each = ids === undefined ? `${replicas} replicas` : `ids ${ids}`;
  if (balance === null) {
    const undrain = `${programName()} undrain ${shownCrawl(config)} ${agents[0]?.id}`;
    return `${table}\n\n${each}; all agents are drained, so none takes hosts; bring one back: ${undrain}`;
  }
  const { sigma, min, max } = balance;
  const spread = `from ${percent(min)} to ${percent(max)} of the expected share`;
  return `${table}\n\n${each}; σ of the shares ${percent(sigma)}, ${spread}`;
}

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}
