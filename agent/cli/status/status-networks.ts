// The networks that share the crawl, in the output of `status`: what the agents of this network asked
// and reported, and which network's Redis does not answer. Omitted for a crawl that is not shared.

import type { NetworksStatus } from '../../core/crawl/networks-port.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { count, durationText, printable, renderTable } from '../common/output.ts';

const NUMBERS = ['verdicts', 'partial', 'elsewhere', 'latency', 'waiting', 'leases', 'reports'];

interface Shared {
  readonly id: string;
  readonly networks: NetworksStatus;
}

/** A table of at most 80 columns; null if the crawl is not shared. */
export function networksText(
  agents: readonly Pick<AgentStatus, 'id' | 'networks'>[],
): string | null {
  const shared = agents.flatMap(({ id, networks }) => (networks ? [{ id, networks }] : []));
  const [first] = shared;
  if (!first) return null;
  const centres = shared.flatMap(({ id, networks }) => (networks.centre ? [id] : []));
  const who = centres.length === 0 ? 'none of these agents' : centres.join(', ');
  const columns = NUMBERS.map((title) => ({ title, align: 'right' as const }));
  const table = renderTable([{ title: 'agent' }, ...columns], shared.map(rowOf));
  const line = printable(`network ${first.networks.network}; centre: ${who}`);
  return [
    line,
    table,
    ...awaitedLines(shared),
    ...absentLines(shared),
    ...failureLines(shared),
    ...new Set(shared.flatMap(({ networks: { warnings = [] } }) => warnings.map(printable))),
  ].join('\n');
}

function rowOf({ id, networks }: Shared): string[] {
  const { submitter, leases, reporter, failures } = networks;
  const isCutOff = failures.some(({ network }) => network === networks.network);
  const { verdicts, partial, elsewhere, latencyMs, urls } = submitter;
  return [
    id,
    ...[verdicts, partial, elsewhere].map(count),
    verdicts === 0 ? '-' : `${count(latencyMs / verdicts)} ms`,
    count(urls),
    `${count(leases.held)}/${count(leases.held + leases.waiting)}`,
    isCutOff ? 'no Redis' : reporter.isFilling ? 'filling' : count(reporter.unreported),
  ];
}

/** The agents know of the end of their cluster at different times. */
function awaitedLines(shared: readonly Shared[]): string[] {
  const names = [...new Set(shared.flatMap(({ networks }) => networks.awaited ?? []))];
  return names.length === 0 ? [] : [printable(`complete; waits for ${names.sort().join(', ')}`)];
}

function absentLines(shared: readonly Shared[]): string[] {
  return shared.flatMap(({ networks: { absent = [] } }) =>
    absent.map(({ network, forMs }) =>
      printable(`network ${network} has not run for ${durationText(forMs)}, as far as is known`),
    ),
  );
}

/** The error of the agent to which the Redis of a network has not answered for the longest time. */
function failureLines(shared: readonly Shared[]): string[] {
  const all = shared.flatMap(({ id, networks: { failures, network: own, onTimeout } }) => {
    return failures.map((failure) => ({ id, own, onTimeout, ...failure }));
  });
  const byNetwork = Map.groupBy(all, ({ network }) => network);
  return [...byNetwork.values()].flatMap((failures) => {
    const [{ message, forMs, network, own, onTimeout }] = failures.toSorted(
      (a, b) => b.forMs - a.forMs,
    ) as [(typeof all)[0]];
    const ids = failures.map(({ id }) => id).join(', ');
    const quietMs = Math.min(...failures.map((failure) => failure.quietMs));
    const last = quietMs < 1000 ? '' : `, last ${durationText(quietMs)} ago`;
    const { text, remedy } = failureParts(message);
    const meanwhile = MEANWHILE[onTimeout ?? 'proceed'][network === own ? 'own' : 'other'];
    return [
      `${text} (for ${durationText(forMs)}${last}: ${ids})`,
      `  meanwhile: ${meanwhile}`,
      `  remedy: ${remedy}`,
    ].map(printable);
  });
}

/** What an agent does while a Redis does not answer, its own or that of another network. */
const MEANWHILE = {
  proceed: {
    own:
      'URLs are fetched without verdict, so other networks may fetch them, too; hosts whose ' +
      'lease it grants wait for two leases, then are visited without; the crawl does not end',
    other:
      'URLs are decided without this network, which may fetch them, too; hosts whose lease it ' +
      'grants wait for two leases, then are visited without',
  },
  wait: {
    own:
      'URLs wait for their verdict, and hosts for the leases that it grants; after dedup.leaseMs ' +
      'no host is visited',
    other: 'URLs wait for its verdict, and hosts for the leases that it grants; others are fetched',
  },
} as const;

const reconnect = 'look at that Redis and the way to it, or correct its URL in dedup.networks';

/** The message of a failure names the remedy; an error of a connection alone has none. */
export function failureParts(message: string): { readonly text: string; readonly remedy: string } {
  const [text = '', ...remedy] = message.split('; ');
  return { text, remedy: remedy.join('; ') || reconnect };
}
