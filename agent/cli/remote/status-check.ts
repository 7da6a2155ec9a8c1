// Checks the status of another agent, which may be any JSON: what `status` reads of it must have the
// right type. Other properties may be missing or new, because agents may have different versions.

import { ID_CHARS_MAX, MEMBERS_MAX, URL_CHARS_MAX } from '../../messaging/checks/limits.ts';
import {
  type Check,
  duration,
  flag,
  integer,
  isRecord,
  list,
  nullable,
  text,
  textLike,
} from '../../messaging/checks/shape.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';

/** More than an agent keeps. */
const EVENTS_MAX = 1000;
const NETWORKS_MAX = 1000;
/** More than there are classes of failures. */
const CLASSES_MAX = 1000;

/** An object with at least these properties. */
function having(fields: Readonly<Record<string, Check>>): Check {
  return (value, inc) => {
    if (!isRecord(value)) return ': not an object';
    for (const [key, check] of Object.entries(fields)) {
      const wrong = check(value[key], inc);
      if (wrong !== null) return `.${key}${wrong}`;
    }
    return null;
  };
}

const isPlain = (value: unknown) => typeof value !== 'object' || value === null;

/** A record of values that can be shown as text. */
const detail: Check = (value) => {
  if (!isRecord(value)) return ': not an object';
  const isShown = (one: unknown) => isPlain(one) || (Array.isArray(one) && one.every(isPlain));
  return Object.values(value).every(isShown) ? null : ': nested';
};

const counts = having({ messages: duration });
const traffic: Check = (value, inc) => {
  if (!isRecord(value)) return ': not an object';
  return Object.values(value).every((one) => counts(one, inc) === null) ? null : ': not counts';
};

const failures: Check = (value, inc) => {
  if (!isRecord(value)) return ': not an object';
  const counts = Object.values(value);
  const isGood = counts.length <= CLASSES_MAX && counts.every((n) => duration(n, inc) === null);
  return isGood ? null : ': not counts';
};

function named(...names: readonly string[]): Record<string, Check> {
  return Object.fromEntries(names.map((name) => [name, duration]));
}

/** A part that an agent may omit. */
function absentOr(check: Check): Check {
  return (value, inc) => (value === undefined ? null : check(value, inc));
}

const id = text(ID_CHARS_MAX, 1);
const reason = text(URL_CHARS_MAX);
const numbers = [
  ...['openRequests', 'queued', 'outbox', 'unsettled', 'unanswered', 'copyLag', 'hosts', 'threads'],
  'capacity',
  ...['hostsAwaitingRobots', 'pages', 'pagesPerSecond', 'loopDelayMs', 'rssBytes', 'uptimeMs'],
];

const networks = having({
  network: id,
  submitter: having(named('verdicts', 'latencyMs', 'partial', 'elsewhere', 'urls')),
  reporter: having({ unreported: duration, isFilling: flag }),
  centre: nullable((value) => (isRecord(value) ? null : ': not an object')),
  leases: having(named('held', 'waiting')),
  awaited: absentOr(list(id, NETWORKS_MAX)),
  failures: list(having({ network: id, message: reason, forMs: duration }), NETWORKS_MAX),
});

const traps = having({ slowed: integer, stopped: integer, host: reason });

const status = having({
  id,
  ...named(...numbers),
  ...{ joined: flag, idle: flag, paused: flag, directives: text(ID_CHARS_MAX), traffic },
  lifecycle: textLike(/^[a-z]+$/, 'a word', ID_CHARS_MAX),
  waits: absentOr(reason),
  networks: absentOr(networks),
  ...{ traps: absentOr(nullable(traps)), diskFreeBytes: absentOr(nullable(duration)) },
  ...{ failures: absentOr(failures), dashboard: absentOr(reason) },
  members: list(having({ id, relayed: flag }), MEMBERS_MAX),
  budgets: having({
    pages: nullable(
      having({
        limit: duration,
        tokens: integer,
        hostsWaiting: duration,
        spent: nullable(integer),
      }),
    ),
    addresses: nullable(
      having({
        ...{ delayMs: duration, owned: duration, granted: duration },
        ...{ used: duration, hostsWaiting: duration },
      }),
    ),
  }),
  recent: list(having({ kind: id, ageMs: duration, detail }), EVENTS_MAX),
});

/** Whether it is the status of this agent. */
export function isStatusOf(result: unknown, agent: string): result is AgentStatus {
  return status(result, 0) === null && (result as AgentStatus).id === agent;
}
