// An empty agent status, for tests that set only a few of its fields.

import type { AgentStatus } from '../../../agent/monitor/agent-status.ts';

export function agentStatus(part: Partial<AgentStatus>): AgentStatus {
  return {
    id: 'a1',
    pid: 1,
    incarnation: 1,
    joined: true,
    lifecycle: 'crawling',
    idle: false,
    paused: false,
    directives: '',
    members: [],
    hosts: 0,
    hostsWithQueue: 0,
    hostsAwaitingRobots: 0,
    pages: 0,
    queued: 0,
    outbox: 0,
    unsettled: 0,
    fetched: 0,
    unanswered: 0,
    copyLag: 0,
    handOff: { given: 0, owed: 0, awaited: 0 },
    budgets: { pages: null, addresses: null },
    refused: [],
    recent: [],
    openRequests: 0,
    threads: 1,
    capacity: 1,
    pagesPerSecond: 0,
    loopDelayMs: 0,
    rssBytes: 0,
    traffic: {},
    uptimeMs: 0,
    ...part,
  };
}
