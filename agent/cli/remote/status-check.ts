// Checks the status of another agent, which may be any JSON: what `status` reads of it must have the
// right type. Other properties may be missing or new, because agents may have different versions.

import { DIRECTIVES_MAX, type DirectiveInForce } from '../../core/protocol/directives.ts';
import {
  CAPACITY_MAX,
  ID_CHARS_MAX,
  MEMBERS_MAX,
  URL_CHARS_MAX,
} from '../../messaging/checks/limits.ts';
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
  ...['hostsAwaitingRobots', 'pages', 'pagesPerSecond', 'loopDelayMs', 'rssBytes', 'uptimeMs'],
  'fetched',
];

const networks = having({
  network: id,
  submitter: having(named('verdicts', 'latencyMs', 'partial', 'elsewhere', 'urls')),
  reporter: having({ unreported: duration, isFilling: flag }),
  centre: nullable((value) => (isRecord(value) ? null : ': not an object')),
  leases: having(named('held', 'waiting')),
  awaited: absentOr(list(id, NETWORKS_MAX)),
  absent: absentOr(list(having({ network: id, forMs: duration }), NETWORKS_MAX)),
  failures: list(
    having({ network: id, message: reason, forMs: duration, quietMs: duration }),
    NETWORKS_MAX,
  ),
});

const traps = having({ slowed: integer, stopped: integer, host: reason });

/** More would make a view of the cluster too large. */
const capacity: Check = (value, inc) => {
  return duration(value, inc) ?? (Number(value) > CAPACITY_MAX ? ': too large' : null);
};

const member = having({
  ...{ id, relayed: flag, joined: absentOr(flag), leaving: absentOr(flag) },
  ...{ capacity: absentOr(capacity), address: absentOr(text(URL_CHARS_MAX)) },
});

const gone = having({ id, kind: id, ageMs: duration });

const status = having({
  id,
  ...named(...numbers),
  capacity,
  ...{ joined: flag, idle: flag, paused: flag, directives: text(ID_CHARS_MAX), traffic },
  lifecycle: textLike(/^[a-z]+$/, 'a word', ID_CHARS_MAX),
  waits: absentOr(reason),
  networks: absentOr(networks),
  ...{ traps: absentOr(nullable(traps)), diskFreeBytes: absentOr(nullable(duration)) },
  lastEvent: absentOr(duration),
  ...{ failures: absentOr(failures), dashboard: absentOr(reason) },
  gone: absentOr(list(gone, MEMBERS_MAX)),
  members: list(member, MEMBERS_MAX),
  handOff: having(named('given', 'awaited')),
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

const directive = having({
  ...{ kind: id, host: reason, by: text(ID_CHARS_MAX), value: nullable(duration) },
  applied: list(id, MEMBERS_MAX),
});

/** The directives that can be read. */
export function directivesIn(list: unknown): DirectiveInForce[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, DIRECTIVES_MAX).filter((one) => directive(one, 0) === null);
}

interface Statuses {
  readonly agents: readonly AgentStatus[];
  readonly unreachable: readonly string[];
  /** The agents whose answers have a wrong shape. */
  readonly unreadable: readonly string[];
  readonly orders: readonly DirectiveInForce[];
}

/** What can be read of an answer about all agents of a ring; null: nothing. */
export function statusesIn(result: unknown): Statuses | null {
  if (!isRecord(result) || !Array.isArray(result.agents)) return null;
  const answers: unknown[] = result.agents;
  const idOf = (one: unknown) => (isRecord(one) && id(one.id, 0) === null ? String(one.id) : null);
  const readable = answers.filter((one): one is AgentStatus => isStatusOf(one, idOf(one) ?? ''));
  const agents = [...new Map(readable.map((one) => [one.id, one])).values()];
  if (agents.length === 0) return null;
  const silent: unknown[] = Array.isArray(result.unreachable) ? result.unreachable : [];
  const unreachable = silent.filter((one) => id(one, 0) === null).map(String);
  const heard = new Set([...agents.map((one) => one.id), ...unreachable]);
  const named = answers.flatMap((one) => idOf(one) ?? []);
  // An answer without an identifier is of a member that is neither heard nor silent.
  const members = agents.flatMap((one) => one.members.map((other) => other.id));
  const others = named.length < answers.length ? members : [];
  const unreadable = [...new Set([...named, ...others])].filter((one) => !heard.has(one));
  return { agents, unreachable, unreadable, orders: directivesIn(result.orders) };
}
