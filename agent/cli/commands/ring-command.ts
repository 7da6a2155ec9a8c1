// `ubiring ring`: how the circle is divided between the configured agents, and how evenly. A share
// is the fraction of hosts that an agent will own; what it should be follows from the capacities.

import { type Config, membersOf } from '../../../config/config.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { ringOf } from '../common/host-order.ts';
import { type CommonFlags, load } from '../common/load-config.ts';
import { print, renderTable } from '../common/output.ts';

/** What `--json` prints. */
export interface RingReport {
  readonly replicas: number;
  readonly agents: readonly {
    readonly id: string;
    readonly capacity: number;
    readonly points: number;
    /** Fraction of all hosts. */
    readonly share: number;
    /** Its fraction of all capacity. */
    readonly expected: number;
  }[];
  /** Of share / expected over the agents: 1 is a perfect division. */
  readonly balance: { readonly sigma: number; readonly min: number; readonly max: number };
}

/** Characters of the longest bar. */
const barLength = 40;

export async function ring(
  file: string,
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded.code;
  const report = ringReport(loaded.config);
  await print(flags.json ? `${JSON.stringify(report)}\n` : `${ringText(report)}\n`);
  return 0;
}

export function ringReport(config: Config): RingReport {
  const members = membersOf(config);
  const circle = ringOf(config);
  const [shares, points] = [circle.shares(), circle.pointCounts()];
  const capacity = members.reduce((sum, member) => sum + member.capacity, 0);
  const agents = members.map((member) => ({
    ...member,
    points: points.get(member.id) ?? 0,
    share: shares.get(member.id) ?? 0,
    expected: member.capacity / capacity,
  }));
  const ratios = agents.map(({ share, expected }) => share / expected);
  const variance = ratios.reduce((sum, ratio) => sum + (ratio - 1) ** 2, 0) / ratios.length;
  return {
    replicas: config.cluster.replicas,
    agents,
    balance: { sigma: Math.sqrt(variance), min: Math.min(...ratios), max: Math.max(...ratios) },
  };
}

function ringText({ replicas, agents, balance }: RingReport): string {
  const largest = Math.max(...agents.map(({ share }) => share));
  const table = renderTable(
    [
      { title: 'agent' },
      { title: 'capacity', align: 'right' },
      { title: 'points', align: 'right' },
      { title: 'share', align: 'right' },
      { title: 'of its due', align: 'right' },
      { title: '' },
    ],
    agents.map(({ id, capacity, points, share, expected }) => [
      id,
      String(capacity),
      String(points),
      percent(share),
      percent(share / expected),
      '█'.repeat(Math.max(1, Math.round((barLength * share) / largest))),
    ]),
  );
  const { sigma, min, max } = balance;
  const spread = `from ${percent(min)} to ${percent(max)} of what is due`;
  return `${table}\n\n${replicas} replicas; σ of the shares ${percent(sigma)}, ${spread}`;
}

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}
