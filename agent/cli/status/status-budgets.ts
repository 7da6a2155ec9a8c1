// The shared limits in the output of `status`: the page limit with each agent's tokens, and the
// address permits with the hosts that wait for one. The table is omitted unless the config sets
// `limits.pages` or `politeness.ipDelayMs`.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import { count, renderTable, type TableColumn } from '../common/output.ts';

const PAGE_TITLES = ['tokens', 'hosts waiting'];
const ADDRESS_TITLES = ['addresses', 'granted', 'in use', 'hosts queued'];

/** Lines of at most 80 columns; null if the cluster has no shared limit. */
export function budgetsText(agents: readonly AgentStatus[]): string | null {
  const [first] = agents;
  if (!first?.budgets.pages && !first?.budgets.addresses) return null;
  const titles = [
    ...(first.budgets.pages ? PAGE_TITLES : []),
    ...(first.budgets.addresses ? ADDRESS_TITLES : []),
  ];
  const numbers = titles.map((title): TableColumn => ({ title, align: 'right' }));
  const rows = agents.map(({ id, budgets: { pages, addresses } }) => {
    const ofPages = pages ? [pages.tokens, pages.hostsWaiting] : [];
    const { owned = 0, granted = 0, used = 0, hostsWaiting = 0 } = addresses ?? {};
    const ofAddresses = addresses ? [owned, granted, used, hostsWaiting] : [];
    return [id, ...[...ofPages, ...ofAddresses].map(count)];
  });
  const lines = [limitLine(agents), addressLine(agents)].filter((line) => line !== null);
  return [...lines, renderTable([{ title: 'agent' }, ...numbers], rows)].join('\n');
}

function limitLine(agents: readonly AgentStatus[]): string | null {
  const limit = agents[0]?.budgets.pages?.limit;
  if (limit === undefined) return null;
  const ended = agents.reduce((sum, { pages }) => sum + pages, 0);
  const granter = agents.find(({ budgets }) => budgets.pages?.spent != null);
  const reached = agents.some(({ budgets }) => budgets.pages?.reached);
  const state = reached
    ? 'reached'
    : granter
      ? `${granter.id} grants tokens: ${count(limit - granter.budgets.pages!.spent!)} left`
      : 'tokens are granted once all pages are counted';
  return `page limit: ${count(ended)} of ${count(limit)} pages; ${state}`;
}

function addressLine(agents: readonly AgentStatus[]): string | null {
  const delayMs = agents[0]?.budgets.addresses?.delayMs;
  return delayMs === undefined ? null : `cooldown of each address: ${count(delayMs)} ms`;
}
