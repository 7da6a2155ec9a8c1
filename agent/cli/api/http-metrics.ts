// The metrics of the agents in the text format of Prometheus. The labels are agents and types of
// messages, never hosts, so their number is bounded.

import { Counter, Gauge, Registry } from 'prom-client';
import type { AgentStatus } from '../../monitor/agent-status.ts';

type Value = (status: AgentStatus) => number;

const GAUGES: Readonly<Record<string, readonly [string, Value]>> = {
  joined: ['1: the agent has joined the cluster', (s) => Number(s.joined)],
  paused: ['1: a directive has paused the crawl', (s) => Number(s.paused)],
  idle: ['1: the agent has no work', (s) => Number(s.idle)],
  members: ['Other agents in view', (s) => s.members.length],
  member_silence_seconds: [
    'Time since the last news of the member that has been silent longest',
    (s) => Math.max(0, ...s.members.map(({ silentMs }) => silentMs)) / 1000,
  ],
  hosts: ['Hosts that the agent owns', (s) => s.hosts],
  hosts_with_queue: ['Hosts with queued URLs', (s) => s.hostsWithQueue],
  hosts_awaiting_robots: ['Hosts whose robots.txt is out of reach', (s) => s.hostsAwaitingRobots],
  hosts_under_replicated: [
    'Hosts with a copy that lags; a copy that no agent keeps is not counted',
    (s) => s.copyLag,
  ],
  pages: ['URLs that ended with a response or failed', (s) => s.pages],
  queued_urls: ['Queued URLs', (s) => s.queued],
  outbox_urls: ['URLs that wait for their owners', (s) => s.outbox],
  unsettled_pages: ['Pages whose links are not stored at their owners yet', (s) => s.unsettled],
  open_requests: ['Requests that are open', (s) => s.openRequests],
  threads: ['Fetch threads', (s) => s.threads],
  event_loop_delay_seconds: [
    '99th percentile of the delay of the event loop over the last ten to twenty seconds',
    (s) => s.loopDelayMs / 1000,
  ],
  resident_memory_bytes: ['Memory of the process', (s) => s.rssBytes],
  uptime_seconds: ['Time since the start of the process', (s) => s.uptimeMs / 1000],
};

/** The age of the statuses, too: a silent agent keeps its last values. */
export async function metricsText(
  statuses: readonly AgentStatus[],
  ageSeconds: (id: string) => number,
): Promise<{ readonly type: string; readonly text: string }> {
  const registry = new Registry();
  const registers = [registry];
  for (const [name, [help, value]] of Object.entries(GAUGES)) {
    const gauge = new Gauge({ name: `ubiring_${name}`, help, labelNames: ['agent'], registers });
    for (const status of statuses) gauge.set({ agent: status.id }, value(status));
  }
  const age = new Gauge({
    ...{ name: 'ubiring_status_age_seconds', help: 'Time since the agent reported its status' },
    ...{ labelNames: ['agent'], registers },
  });
  const fetched = new Counter({
    ...{ name: 'ubiring_fetched_pages_total', help: 'Pages that the process has fetched' },
    ...{ labelNames: ['agent'], registers },
  });
  const labelNames = ['agent', 'type'];
  const messages = new Counter({
    ...{
      name: 'ubiring_sent_messages_total',
      help: 'Messages to other agents',
      labelNames,
      registers,
    },
  });
  const bytes = new Counter({
    ...{ name: 'ubiring_sent_bytes_total', help: 'Bytes to other agents', labelNames, registers },
  });
  const failed = new Counter({
    ...{ name: 'ubiring_failed_requests_total', help: 'Failed requests by class' },
    ...{ labelNames: ['agent', 'class'], registers },
  });
  for (const { id: agent, traffic, ...status } of statuses) {
    age.set({ agent }, ageSeconds(agent));
    fetched.inc({ agent }, status.fetched);
    for (const [name, n] of Object.entries(status.failures ?? {})) {
      failed.inc({ agent, class: name }, n ?? 0);
    }
    for (const [type, sent] of Object.entries(traffic)) {
      messages.inc({ agent, type }, sent?.messages ?? 0);
      bytes.inc({ agent, type }, sent?.bytes ?? 0);
    }
  }
  return { type: registry.contentType, text: await registry.metrics() };
}
