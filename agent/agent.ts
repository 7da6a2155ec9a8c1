// One agent, put together: the only place where the parts meet. It reads as a table of contents:
// state, messages, fetching, the core, the loop that turns inputs into effects, and the end. The
// command line starts it; tests start several in one process.

import { createHash, hash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { findCollision } from '../assignment/collision.ts';
import { Ring } from '../assignment/ring.ts';
import { RingPoints } from '../assignment/ring-points.ts';
import { type AgentEntry, type Config, leaseMsOf } from '../config/config.ts';
import {
  crawlKey,
  fingerprintHash,
  fingerprintOf,
  firstDifference,
} from '../config/fingerprint.ts';
import { ControlRoom } from './control.ts';
import { Core } from './core/core.ts';
import { type Effect, Effects, type EndCode } from './core/effects.ts';
import type { Envelope, Message, UrlItem } from './core/messages.ts';
import type { Outcome } from './core/outcome.ts';
import type { CoreSettings } from './core/settings.ts';
import { AddressGuard } from './fetch/address-guard.ts';
import { createGotFetcher } from './fetch/got-fetcher.ts';
import { admission } from './frontier/admission.ts';
import { Visits } from './frontier/visits.ts';
import type { RefusedFrame } from './messaging/refusals.ts';
import { Transport } from './messaging/transport.ts';
import { type AgentStatus, Rate } from './monitor/status.ts';
import { PagePipeline } from './page-pipeline.ts';
import { ParsePool } from './parse/pool.ts';
import { productTokenOf } from './robots/product-token.ts';
import { parseRobots } from './robots/robots-txt.ts';
import { monotonicMs, systemClock, wallMs } from './runtime/clock.ts';
import { Turns } from './runtime/turns.ts';
import { openState } from './storage/database.ts';
import { SqliteStore } from './storage/sqlite-store.ts';
import { CANONICAL_FORM_VERSION, parseCrawlUrl } from './url/crawl-url.ts';
import { Scope } from './url/scope.ts';
import { splitIdentity } from './url/url-key.ts';

/** Version of the messages and rules between agents; part of what must agree. */
const PROTOCOL_VERSION = 1;
/** Frames still to be sent at the end get so long. */
const LINGER_MS = 300;

export interface AgentEnd {
  readonly code: EndCode;
  readonly reason: string;
}

export interface RunningAgent {
  readonly ended: Promise<AgentEnd>;
  status(): AgentStatus;
  /** Graceful leave: hands everything over, then ends with 0. */
  leave(): void;
  /** Settles what can be and ends with 11. */
  stop(): void;
  stopNow(): void;
}

export type Started =
  | { readonly ok: true; readonly agent: RunningAgent }
  | { readonly ok: false; readonly code: 1 | 3 | 4 | 5; readonly message: string };

type Input =
  | { readonly type: 'start' }
  | { readonly type: 'message'; readonly envelope: Envelope }
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  | { readonly type: 'leave' }
  | { readonly type: 'stop' };

/** Starts agent `id` of the config. On failure nothing is left open. */
export async function startAgent(options: {
  config: Config;
  id: string;
  log: Logger;
}): Promise<Started> {
  const { config, id, log } = options;
  const { agents } = config.cluster;
  if (typeof agents === 'number') {
    throw new Error('the ports of numbered agents must be resolved before an agent is started');
  }
  const entry = agents.find((agent) => agent.id === id);
  if (!entry) {
    const known = agents.map((agent) => agent.id).join(', ');
    return { ok: false, code: 4, message: `no agent '${id}' in the config; it has ${known}` };
  }
  const directory = join(config.agent.dataDir, id);
  const opened = openState({ directory, crawl: config.name, agent: id });
  if (!opened.ok) return { ok: false, code: 4, message: opened.message };
  const agent = new Agent({ config, entry, agents, directory, log, state: opened });
  const bound = await agent.bind();
  if (bound.ok) return { ok: true, agent };
  return { ok: false, code: bound.code === 'port_in_use' ? 5 : 4, message: bound.message };
}

interface AgentParts {
  readonly config: Config;
  readonly entry: AgentEntry;
  readonly agents: readonly AgentEntry[];
  readonly directory: string;
  readonly log: Logger;
  readonly state: Extract<ReturnType<typeof openState>, { ok: true }>;
}

class Agent implements RunningAgent {
  readonly ended: Promise<AgentEnd>;
  readonly #p: AgentParts;
  readonly #effects = new Effects();
  readonly #store: SqliteStore;
  readonly #core: Core;
  readonly #transport: Transport;
  readonly #control: ControlRoom;
  readonly #pipeline: PagePipeline;
  readonly #close: () => Promise<void>;
  readonly #turns: Turns<Input, Effect>;
  readonly #rate = new Rate();
  readonly #loopDelay = monitorEventLoopDelay({ resolution: 10 });
  readonly #startedAt = monotonicMs();
  #resolveEnded: (end: AgentEnd) => void = () => {};
  #ending = false;

  constructor(parts: AgentParts) {
    this.#p = parts;
    const { config, state } = parts;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#store = new SqliteStore(state.db, {
      durability: config.storage.durability,
      hostDelayMs: config.politeness.hostDelayMs,
    });
    this.#core = coreOf(parts, this.#store, this.#effects);
    this.#transport = this.#transportOf(parts);
    this.#control = this.#controlOf(parts);
    const fetching = fetchingOf(config, (host) => this.#mayWrite(host));
    this.#pipeline = fetching.pipeline;
    this.#close = fetching.close;
    this.#turns = this.#loop();
  }

  #transportOf({ config, entry, log }: AgentParts): Transport {
    return new Transport({
      id: entry.id,
      listen: entry.listen,
      silenceMs: config.cluster.failureDetector.suspectAfterMs,
      log,
      onEnvelope: (envelope) => this.#onEnvelope(envelope),
      onRefusedFrame: (refused) => this.#onRefusedFrame(refused),
      onControl: (request, reply) => this.#control.onCommand(request, reply),
      incarnationMax: () => wallMs() + 366 * 24 * 3600 * 1000,
    });
  }

  #controlOf({ entry }: AgentParts): ControlRoom {
    return new ControlRoom({
      id: entry.id,
      members: () => this.#core.snapshot(systemClock.now()).members,
      apply: (verb) => this.#command(verb),
      send: (to, message) => this.#sendTo(to, message),
      after: (ms, act) => setTimeout(act, ms).unref(),
    });
  }

  #loop(): Turns<Input, Effect> {
    return new Turns<Input, Effect>({
      clock: systemClock,
      store: this.#store,
      handle: (input, now) => {
        if (input.type === 'message') this.#core.onMessage(input.envelope, now);
        else if (input.type === 'outcome') this.#core.onPage(input.outcome, now);
        else if (input.type === 'leave') this.#core.leave(now);
        else if (input.type === 'stop') this.#core.stop(now);
        else this.#core.start(now);
      },
      due: (now) => this.#core.onDeadline(now),
      committed: () => this.#core.committed(),
      nextMs: (now) => this.#core.nextDeadlineMs(now),
      take: () => this.#effects.take(),
      isDurable: (effect) => effect.type === 'send' && effect.durable,
      perform: (effect) => this.#perform(effect),
      failed: (error) => this.#failed(error),
    });
  }

  async bind(): Promise<Awaited<ReturnType<Transport['bind']>>> {
    const bound = await this.#transport.bind();
    if (!bound.ok) {
      await this.#close();
      this.#closeState();
      return bound;
    }
    this.#writePidFile();
    this.#loopDelay.enable();
    this.#p.log.info({ listen: this.#transport.endpoint }, 'agent is listening');
    this.#turns.push({ type: 'start' });
    return bound;
  }

  leave(): void {
    this.#turns.push({ type: 'leave' });
  }

  stop(): void {
    this.#turns.push({ type: 'stop' });
  }

  stopNow(): void {
    void this.#end({ code: 11, reason: 'stopped at once; launch again to go on' });
  }

  status(): AgentStatus {
    const now = systemClock.now();
    const { hosts, hostsWithQueue, pages } = this.#store.owned();
    const loopDelayMs = this.#loopDelay.percentile(99) / 1e6;
    return {
      ...this.#core.snapshot(now),
      pid: process.pid,
      hosts,
      hostsWithQueue,
      pages,
      threads: this.#p.config.agent.threads,
      pagesPerSecond: this.#rate.at(now.mono, pages),
      loopDelayMs: Number.isFinite(loopDelayMs) ? loopDelayMs : 0,
      rssBytes: process.memoryUsage.rss(),
      uptimeMs: Math.round(now.mono - this.#startedAt),
    };
  }

  // ---- inputs

  #onEnvelope(envelope: Envelope): void {
    const { type } = envelope.message;
    if (type === 'CONTROL' || type === 'CONTROL_ACK') this.#control.onMemberMessage(envelope);
    else this.#turns.push({ type: 'message', envelope });
  }

  /** A batch that came malformed is answered, so that it is not resent for ever. */
  #onRefusedFrame({ batch, from, detail }: RefusedFrame): void {
    if (batch === undefined || from === undefined) return;
    const { members } = this.#core.snapshot(systemClock.now());
    const member = members.find(({ id, inc }) => id === from.id && inc === from.inc);
    if (member) this.#sendTo(member, { type: 'BATCH_REFUSED', batch, reason: detail });
  }

  #command(verb: string): unknown {
    if (verb === 'status') return this.status();
    if (verb === 'leave') this.leave();
    else this.stop();
    return 'applied';
  }

  /** Asked by the fetcher when a connection is ready: a fresh clock, then the lease. */
  #mayWrite(host: string): boolean {
    const granted = !this.#ending && this.#core.mayWrite(host, systemClock.now());
    if (!granted) this.#turns.kick();
    return granted;
  }

  // ---- effects

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'send':
        return this.#transport.send(effect.to, effect.envelope, effect.lane);
      case 'forget-peer':
        return this.#transport.forget(effect.id);
      case 'request':
        void this.#pipeline
          .run(effect.request)
          .then((outcome) => this.#turns.push({ type: 'outcome', outcome }));
        return;
      case 'abort':
        return this.#pipeline.abort(effect.request);
      case 'woke':
        return this.#onWoke();
      case 'end':
        void this.#end(effect);
    }
  }

  #sendTo(to: { id: string; inc: number; address: string }, message: Message): void {
    const { incarnation } = this.#core.snapshot(systemClock.now());
    const from = { id: this.#p.entry.id, inc: incarnation };
    this.#transport.send(to, { from, to: { id: to.id, inc: to.inc }, message }, 'control');
  }

  /** After a long stall the crawl may be over: whoever saw its end has left word. */
  #onWoke(): void {
    if (isComplete(this.#p.config)) {
      void this.#end({ code: 0, reason: 'the crawl was completed by the others' });
    }
  }

  // ---- the end

  #failed(error: unknown): void {
    const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
    this.#p.log.fatal({ err: error }, 'a turn failed; nothing of it was committed');
    const full = code === 'SQLITE_FULL' || code === 'ENOSPC';
    const why = error instanceof Error ? error.message : String(error);
    void this.#end(
      full
        ? { code: 3, reason: `disk full: ${why}; free some space and start the agent again` }
        : { code: 1, reason: `unexpected: ${why}` },
    );
  }

  async #end({ code, reason }: AgentEnd): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    this.#turns.close();
    this.#pipeline.abortAll();
    await this.#transport.close({ lingerMs: LINGER_MS });
    await this.#close();
    this.#closeState();
    this.#loopDelay.disable();
    rmSync(join(this.#p.directory, 'agent.pid'), { force: true });
    this.#p.log.info({ code }, reason);
    this.#resolveEnded({ code, reason });
  }

  #closeState(): void {
    try {
      this.#store.close();
    } catch (error) {
      this.#p.log.error({ err: error }, 'closing the state file');
    }
    this.#p.state.unlock();
  }

  #writePidFile(): void {
    const path = join(this.#p.directory, 'agent.pid');
    writeFileSync(`${path}.tmp`, `${process.pid}\n`);
    renameSync(`${path}.tmp`, path);
  }
}

/** The protocol and the visits, without I/O. */
function coreOf(parts: AgentParts, store: SqliteStore, effects: Effects): Core {
  const { config } = parts;
  return new Core({
    settings: settingsOf(parts),
    store,
    effects,
    hostOf: (url) => splitIdentity(url)?.host ?? null,
    admit: admission(config.limits),
    seeds: seedsOf(config),
    visits: (right) =>
      new Visits({
        store,
        effects,
        right,
        threads: config.agent.threads,
        hostDelayMs: config.politeness.hostDelayMs,
        heartbeatMs: config.cluster.failureDetector.heartbeatMs,
        pagesPerHost: config.limits.pagesPerHost,
        robots: config.politeness.robots,
        parseRobots: robotsParser(config.http.userAgent),
      }),
  });
}

/** Connections, the threads that parse, and the pipeline over both; `close` ends them all. */
function fetchingOf(
  config: Config,
  mayWrite: (host: string) => boolean,
): { readonly pipeline: PagePipeline; readonly close: () => Promise<void> } {
  const { userAgent, timeouts, allowPrivateAddresses } = config.http;
  const fetcher = createGotFetcher({
    userAgent,
    timeouts,
    guard: new AddressGuard({ allowPrivate: allowPrivateAddresses }),
    now: monotonicMs,
    wallNow: wallMs,
    idleConnectionsMax: 2 * config.agent.threads,
  });
  const parsePool = new ParsePool({
    workers: config.agent.parseWorkers,
    queueMax: 2 * config.agent.threads,
    timeoutMs: timeouts.totalMs,
  });
  const scope = scopeOf(config);
  const pipeline = new PagePipeline({
    fetcher,
    parse: (input) => parsePool.parse(input),
    inScope: (host, identity) => scope.admits(host, identity),
    bodyBytesMax: config.limits.bodyBytes,
    mayWrite: (request) => mayWrite(request.host),
  });
  const close = async () => {
    await Promise.all([fetcher.close(), parsePool.close()]);
  };
  return { pipeline, close };
}

function settingsOf({ config, entry, agents }: AgentParts): CoreSettings {
  const { replicas, backups, quorum, failureDetector } = config.cluster;
  const versions = { protocol: PROTOCOL_VERSION, canonicalForm: CANONICAL_FORM_VERSION };
  const fingerprint = fingerprintOf(config, versions);
  const points = new RingPoints({ replicas, sha256: (text) => hash('sha256', text, 'buffer') });
  return {
    id: entry.id,
    capacity: entry.capacity,
    address: entry.address,
    configured: agents.map(({ id, address }) => ({ id, address })),
    backups,
    quorum,
    ...failureDetector,
    leaseMs: leaseMsOf(config),
    hostDelayMs: config.politeness.hostDelayMs,
    fingerprint,
    fingerprintHash: fingerprintHash(fingerprint),
    compare: firstDifference,
    build: (members) => new Ring(members, points),
    collision: (members) => findCollision(members, points),
    digest: (text) => createHash('sha256').update(text).digest('base64url').slice(0, 22),
  };
}

/** Seeds as URLs to route; the config was checked, so all of them parse. */
function seedsOf(config: Config): UrlItem[] {
  const items: UrlItem[] = [];
  for (const seed of config.seeds) {
    const url = parseCrawlUrl(seed);
    if ('refused' in url) continue;
    const item = { url: url.identity, depth: 0 };
    items.push(url.fetchUrl === url.identity ? item : { ...item, fetchUrl: url.fetchUrl });
  }
  return items;
}

function scopeOf({ scope }: Config): Scope {
  return new Scope({
    hosts: scope.hosts,
    include: scope.include.map((source) => new RegExp(source)),
    exclude: scope.exclude.map((source) => new RegExp(source)),
  });
}

function robotsParser(userAgent: string) {
  const token = productTokenOf(userAgent) ?? '*';
  return (body: Uint8Array) => parseRobots(body, token);
}

/** Whether `DATA/complete.json` says that this very crawl (seeds, limits) is over. */
export function isComplete(config: Config): boolean {
  try {
    const text = readFileSync(join(config.agent.dataDir, 'complete.json'), 'utf8');
    return (JSON.parse(text) as { crawl?: unknown }).crawl === crawlKey(config);
  } catch {
    return false;
  }
}
