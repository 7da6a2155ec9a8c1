// What the cluster shares, as `status` shows it: how far the crawl is from its page limit and who has
// tokens, and which addresses each agent grants slots of and how many hosts wait for one. Nothing
// where the config sets neither `limits.pages` nor `politeness.ipDelayMs`.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import { count, renderTable, type TableColumn } from '../common/output.ts';

const right = 'right' as const;

const AGENT: TableColumn = { title: 'agent' };
const OF_PAGES: readonly TableColumn[] = [
  { title: 'tokens', align: right },
  { title: 'hosts waiting', align: right },
];
const OF_ADDRESSES: readonly TableColumn[] = [
  { title: 'addresses', align: right },
  { title: 'granted', align: right },
  { title: 'in use', align: right },
  { title: 'hosts in line', align: right },
];

/** Lines of at most 80 columns; null where nothing is shared. */
export function budgetsText(agents: readonly AgentStatus[]): string | null {
  const [first] = agents;
  if (!first?.budgets.pages && !first?.budgets.addresses) return null;
  const columns = [
    AGENT,
    ...(first.budgets.pages ? OF_PAGES : []),
    ...(first.budgets.addresses ? OF_ADDRESSES : []),
  ];
  const rows = agents.map(({ id, budgets: { pages, addresses } }) => {
    const ofPages = pages ? [pages.tokens, pages.hostsWaiting] : [];
    const { owned = 0, granted = 0, used = 0, hostsWaiting = 0 } = addresses ?? {};
    const ofAddresses = addresses ? [owned, granted, used, hostsWaiting] : [];
    return [id, ...[...ofPages, ...ofAddresses].map(count)];
  });
  const lines = [limitLine(agents), addressLine(agents)].filter((line) => line !== null);
  return [...lines, renderTable(columns, rows)].join('\n');
}

function limitLine(agents: readonly AgentStatus[]): string | null {
  const limit = agents[0]?.budgets.pages?.limit;
  if (limit === undefined) return null;
  const ended = agents.reduce((sum, { pages }) => sum + pages, 0);
  const granter = agents.find(({ budgets }) => budgets.pages?.spent != null);
  const reached = agents.some(({ budgets }) => budgets.pages?.reached);
  const rest = reached
    ? 'it is reached'
    : granter
      ? `${granter.id} grants tokens: ${count(limit - granter.budgets.pages!.spent!)} left`
      : 'tokens are granted once all pages are counted';
  return `page limit: ${count(ended)} of ${count(limit)} pages; ${rest}`;
}

function addressLine(agents: readonly AgentStatus[]): string | null {
  const delayMs = agents[0]?.budgets.addresses?.delayMs;
  return delayMs === undefined ? null : `each address rests for ${count(delayMs)} ms`;
}
