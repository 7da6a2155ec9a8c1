// Follows pages through a running agent: when a page was fetched, when it was settled, when all its
// backups had it, and where the time went. It wraps public methods of the agent's parts from
// outside, so that the product contains no clock for a benchmark. It measures its own agent's side
// only; work of other agents shows in the waits. `probe.ts` loads it.

import { Core } from '../agent/core/core.ts';
import { Routing } from '../agent/core/exchange/routing.ts';
import { Outbound } from '../agent/core/membership/outbound.ts';
import { Replication } from '../agent/core/replication/replication.ts';
import type { SentByType } from '../agent/messaging/traffic.ts';
import { Transport } from '../agent/messaging/transport.ts';
import { monotonicMs } from '../agent/runtime/clock.ts';
import { SqliteStore } from '../agent/storage/sqlite-store.ts';

/** Milliseconds, one entry per page or message. Unfinished ones are not included. */
export interface PageTimes {
  /** From the end of a page's response to the turn that records it: parsing and its queue. */
  readonly recordedMs: number[];
  /** From the end of a page's response to its *done* number: all its links are safe. */
  readonly settledMs: number[];
  /** From then until every backup of its host has it. */
  readonly copiedMs: number[];
  /**
   * From the end of its response until then: the time in which the agent's death costs the page.
   */
  readonly safeMs: number[];
  /** From a message to its answer. */
  readonly rowsMs: number[];
  readonly urlsMs: number[];
  /** From the creation of an answer that waits for the disk to its sending. */
  readonly heldMs: number[];
  /** From a batch of URLs, received as the owner, to the creation of its answer. */
  readonly inboxMs: number[];
  /** Durations of the commits that reached the disk. */
  readonly syncMs: number[];
  turns: number;
}

/** Maximum number of samples. Benchmarks run for minutes. */
const samplesMax = 200_000;

interface Settled {
  readonly n: number;
  readonly fetchedAt: number;
  readonly settledAt: number;
}

/** Wraps the agent's parts. Call it before the agent is created. */
export function followPages(): PageTimes {
  const times: PageTimes = {
    ...{
      recordedMs: [],
      settledMs: [],
      copiedMs: [],
      safeMs: [],
      rowsMs: [],
      urlsMs: [],
      heldMs: [],
    },
    ...{ inboxMs: [], syncMs: [], turns: 0 },
  };
  followCopies(times);
  followMessages(times);
  followCommits(times);
  return times;
}

function note(list: number[], ms: number): void {
  if (list.length < samplesMax) list.push(ms);
}

/** Reports when the agent begins to take part, and what it had sent when it ended. */
export function followAgent(tell: { started(): void; sent(byType: SentByType): void }): void {
  const { start } = Core.prototype;
  Core.prototype.start = function (now) {
    tell.started();
    start.call(this, now);
  };
  const { close } = Transport.prototype;
  Transport.prototype.close = async function (options) {
    await close.call(this, options);
    tell.sent(this.stats().sent);
  };
}

/** From the response to the last copy. Pages whose host moves meanwhile are omitted. */
function followCopies(times: PageTimes): void {
  const fetched = new Map<string, number>();
  const settled = new Map<string, Settled[]>();
  const { onPage } = Core.prototype;
  Core.prototype.onPage = function (outcome, now) {
    const { kind, host, url } = outcome.request;
    if (kind === 'page') {
      fetched.set(`${host} ${url}`, outcome.endedAt);
      note(times.recordedMs, monotonicMs() - outcome.endedAt);
    }
    onPage.call(this, outcome, now);
  };
  const { settle } = SqliteStore.prototype;
  SqliteStore.prototype.settle = function (host, url) {
    settle.call(this, host, url);
    const fetchedAt = fetched.get(`${host} ${url}`);
    if (fetchedAt === undefined) return;
    fetched.delete(`${host} ${url}`);
    const settledAt = monotonicMs();
    note(times.settledMs, settledAt - fetchedAt);
    const page = { n: this.lastNumber(host), fetchedAt, settledAt };
    const pages = settled.get(host);
    if (pages) pages.push(page);
    else settled.set(host, [page]);
  };
  const { onRowsAck } = Replication.prototype;
  Replication.prototype.onRowsAck = function (from, message, at) {
    const result = onRowsAck.call(this, from, message, at);
    const now = monotonicMs();
    for (const { host } of message.items) {
      const pages = settled.get(host) ?? [];
      while (pages[0] && this.isSafe(host, pages[0].n)) {
        const { fetchedAt, settledAt } = pages.shift()!;
        note(times.copiedMs, now - settledAt);
        note(times.safeMs, now - fetchedAt);
      }
      if (pages.length === 0) settled.delete(host);
    }
    return result;
  };
}

/** Rows and URLs until their answers, and how long this agent held back its own answers. */
function followMessages(times: PageTimes): void {
  /** By kind, peer and number. The answers remove entries. */
  const sent = new Map<string, number>();
  const received = new Map<string, number>();
  const made = new WeakMap<object, number>();
  const { toMember } = Outbound.prototype;
  Outbound.prototype.toMember = function (member, message, options) {
    const { id } = member.card;
    const now = monotonicMs();
    if (options?.durable) made.set(message, now);
    const key = keyOf(id, message);
    if (key !== null && !sent.has(key)) sent.set(key, now);
    if (message.type === 'URLS_ACK') end(received, `${id}/${message.batch}`, times.inboxMs, now);
    toMember.call(this, member, message, options);
  };
  const { send } = Transport.prototype;
  Transport.prototype.send = function (to, envelope, lane) {
    const madeAt = made.get(envelope.message);
    if (madeAt !== undefined) note(times.heldMs, monotonicMs() - madeAt);
    send.call(this, to, envelope, lane);
  };
  const { onMessage } = Core.prototype;
  Core.prototype.onMessage = function (envelope, now) {
    const { from, message } = envelope;
    const at = monotonicMs();
    if (message.type === 'URLS') received.set(`${from.id}/${message.batch}`, at);
    if (message.type === 'ROWS_ACK')
      end(sent, `rows ${from.id}/${message.number}`, times.rowsMs, at);
    onMessage.call(this, envelope, now);
  };
  const { onUrlsAck } = Routing.prototype;
  Routing.prototype.onUrlsAck = function (from, batch, notMine, now) {
    end(sent, `urls ${from}/${batch}`, times.urlsMs, monotonicMs());
    onUrlsAck.call(this, from, batch, notMine, now);
  };
}

function keyOf(id: string, message: Parameters<Outbound['toMember']>[1]): string | null {
  if (message.type === 'ROWS') return `rows ${id}/${message.number}`;
  if (message.type === 'URLS') return `urls ${id}/${message.batch}`;
  return null;
}

function end(since: Map<string, number>, key: string, list: number[], now: number): void {
  const at = since.get(key);
  since.delete(key);
  if (at !== undefined) note(list, now - at);
}

function followCommits(times: PageTimes): void {
  const { commit } = SqliteStore.prototype;
  SqliteStore.prototype.commit = function (durable) {
    const at = monotonicMs();
    const reached = commit.call(this, durable);
    times.turns += 1;
    if (durable && reached) note(times.syncMs, monotonicMs() - at);
    return reached;
  };
}
