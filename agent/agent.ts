// One agent: builds its parts and connects them. The loop passes inputs (messages, outcomes,
// commands) to the core and performs the effects that the core returns. Several agents can run in
// one process.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, leaseMsOf } from '../config/config.ts';
import { linkRulesHash } from '../config/fingerprint.ts';
import type { Instant } from '../failure-detector/instant.ts';
import type { Archive } from './archive/archive.ts';
import { ArchiveProgress } from './archive/archive-progress.ts';
import { type AgentEnd, endOfFailure, goneReason, isComplete } from './composition/agent-end.ts';
import { requestScopeOf, seedReader } from './composition/config-parts.ts';
import { archiveOf, fetchingOf } from './composition/fetching.ts';
import type { NetworkWiring } from './composition/network-parts.ts';
import { type Prepared, prepare } from './composition/preparation.ts';
import { coreOf, type ProtocolParts } from './composition/protocol.ts';
import { answerOfRefused } from './composition/refused-frame.ts';
import { ControlRoom } from './control/control.ts';
import { type Explanation, explanationOf, readRowOf } from './control/explanation.ts';
import type { Destination } from './core/budgets/address-permits.ts';
import type { Core } from './core/core.ts';
import type { Operator } from './core/operator/operator.ts';
import { type Effect, Effects, type End } from './core/protocol/effects.ts';
import type { Envelope, MemberCard, Message } from './core/protocol/messages.ts';
import type { Outcome } from './core/protocol/outcome.ts';
import { STALE_PER_STEP } from './frontier/outcome/novelty.ts';
import type { RefusedFrame } from './messaging/refusals.ts';
import { Transport } from './messaging/transport.ts';
import type { AgentStatus } from './monitor/agent-status.ts';
import { ProcessMeter } from './monitor/process-meter.ts';
import { recordProcess, removeProcess } from './monitor/process-record.ts';
import { sampleRegularly } from './monitor/sampler.ts';
import { SlowTurns } from './monitor/slow-turns.ts';
import { AHEAD_MS_MAX } from './monitor/start-clock.ts';
import type { SharedNetworks } from './networks/client/shared-networks.ts';
import type { PagePipeline } from './pipeline/page-pipeline.ts';
import { monotonicMs, systemClock, wallMs } from './runtime/clock.ts';
import { secret } from './runtime/random.ts';
import { Turns } from './runtime/turns.ts';
import { checkInBackground } from './storage/file/background-check.ts';
import { markSuspect } from './storage/file/database.ts';
import { watchPresence } from './storage/file/file-presence.ts';
import { freeBytes } from './storage/file/storage-failure.ts';
import { WAL_BYTES_CHECK_MAX, WAL_REMEDY, watchWal } from './storage/file/wal-watch.ts';
import { StoredStatus } from './storage/reads/stored-status.ts';
import { SqliteStore } from './storage/sqlite-store.ts';
import type { Identity, RequestForm } from './url/crawl-url.ts';

/** At the exit, the transport waits at most this long to send its remaining frames. */
const LINGER_MS = 300;
/** How long a message waits for others while no request is open, in ms: a turn costs two pages. */
const MESSAGE_ALONE_MS = 5;
/** An agent exits if another program locks its state file longer; others have its hosts by then. */
const BLOCKED_MS_MAX = 60_000;

export interface RunningAgent {
  readonly ended: Promise<AgentEnd>;
  status(): AgentStatus;
  /** Hands over all hosts, then exits with 0. */
  leave(): void;
  /** Lets open requests end, then exits with 11. */
  stop(): void;
  /** Exits with 11 at once. */
  stopNow(): void;
}

export type Started =
  /** `notice`: a warning about the state file for the operator; usually null. */
  | { readonly ok: true; readonly agent: RunningAgent; readonly notice: string | null }
  | { readonly ok: false; readonly code: 1 | 3 | 4 | 5; readonly message: string };

type Input =
  | { readonly type: 'start' }
  | { readonly type: 'message'; readonly envelope: Envelope }
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  | { readonly type: 'resolved'; readonly host: string; readonly to: Destination | null }
  | { readonly type: 'leave' }
  | { readonly type: 'stop' }
  | { readonly type: 'operate'; readonly act: (operator: Operator, now: Instant) => void };

export interface AgentOptions extends Pick<ProtocolParts, 'awaits' | 'completedBy' | 'local'> {
  readonly config: Config;
  readonly id: string;
  readonly log: Logger;
  /** Tells the operator what needs attention, or what happened; completes *this agent ...* */
  readonly tell: (what: 'warn' | 'note', message: string) => void;
  /** The round that requests known pages again. */
  readonly refresh?: number | undefined;
  /** Where it serves the dashboard. */
  readonly serves?: () => Pick<AgentStatus, 'dashboard'>;
  /** Returns the end to report. Awaited before the state can be locked. Must not reject. */
  readonly beforeUnlock?: (end: AgentEnd) => Promise<AgentEnd>;
}

/** Starts agent `id` of the config. On failure, all resources are released. */
export async function startAgent(options: AgentOptions): Promise<Started> {
  const { config, id, log } = options;
  const prepared = await prepare(config, id, log);
  if (!prepared.ok) return prepared;
  const { state, directory, networks } = prepared;
  try {
    const agent = new Agent({ ...options, ...prepared });
    return (await agent.bind()) ?? { ok: true, agent, notice: state.notice };
  } catch (error) {
    await networks?.leave();
    state.db.close();
    state.unlock();
    const { code, reason } = endOfFailure(error, directory);
    return { ok: false, code, message: reason };
  }
}

type AgentParts = AgentOptions & Prepared;

const incarnationMax = () => wallMs() + AHEAD_MS_MAX;

class Agent implements RunningAgent {
  readonly #exit = Promise.withResolvers<AgentEnd>();
  readonly ended = this.#exit.promise;
  readonly #p: AgentParts;
  readonly #effects = new Effects();
  readonly #store: SqliteStore;
  readonly #networks: SharedNetworks | undefined;
  readonly #core: Core;
  readonly #transport: Transport;
  readonly #control: ControlRoom;
  readonly #archive: Archive | null;
  readonly #archiveProgress = new ArchiveProgress();
  readonly #pipeline: PagePipeline;
  readonly #close: () => Promise<void>;
  readonly #addressOf: (host: string, current: string | null) => Promise<Destination | null>;
  readonly #turns: Turns<Input, Effect>;
  readonly #stored: StoredStatus;
  readonly #slowTurns: SlowTurns;
  readonly #meter = new ProcessMeter(systemClock.now().mono);
  #isShuttingDown = false;
  #stopCheck: () => void = () => {};
  #lastStatus: AgentStatus | null = null;

  constructor(parts: AgentParts) {
    this.#p = parts;
    const { config, state } = parts;
    this.#store = new SqliteStore(state.db, {
      durability: config.storage.durability,
      ...config.politeness,
      isShared: parts.networks !== null,
      linkRules: linkRulesHash(config),
    });
    const stale = { slowed: STALE_PER_STEP, stopped: config.limits.stalePages };
    this.#stored = new StoredStatus(state.db, stale);
    this.#slowTurns = new SlowTurns(parts.log, monotonicMs);
    this.#networks = parts.networks?.build(this.#wiring(parts));
    const scope = requestScopeOf(config);
    this.#core = coreOf({ ...parts, networks: this.#networks, scope }, this.#store, this.#effects);
    this.#transport = this.#transportOf(parts);
    this.#control = this.#controlOf(parts);
    this.#archive = archiveOf(parts, this.#store, (error) => this.#failed(error));
    const fetching = fetchingOf(parts, this.#archive, scope, (host) => this.#mayWrite(host));
    this.#pipeline = fetching.pipeline;
    this.#close = fetching.close;
    this.#addressOf = fetching.addressOf;
    this.#turns = this.#loop();
  }

  #wiring({ config, entry, log }: AgentParts): NetworkWiring {
    const others = () => this.#core.snapshot(systemClock.now()).members.map(({ id }) => id);
    return {
      ...{ agent: entry.id, inc: wallMs(), store: this.#store, log },
      members: () => ({
        agents: [entry.id, ...others()],
        isPartial: config.cluster.overlay === 'kademlia',
      }),
      wake: () => this.#turns.pushPatiently({ type: 'operate', act: () => {} }),
    };
  }

  #transportOf({ config, entry, log }: AgentParts): Transport {
    return new Transport({
      ...{ id: entry.id, listen: entry.listen, log, incarnationMax },
      silenceMs: config.cluster.failureDetector.suspectAfterMs,
      countsOperations: config.cluster.overlay === 'kademlia',
      onEnvelope: (envelope) => this.#onEnvelope(envelope),
      onRefusedFrame: (refused) => this.#onRefusedFrame(refused),
      onControl: (request, reply) => this.#control.onCommand(request, reply),
    });
  }

  #controlOf({ config, entry }: AgentParts): ControlRoom {
    return new ControlRoom({
      ...{ id: entry.id, crawl: config.name, whereabouts: this.#core.whereabouts },
      status: () => this.status(),
      directives: () => this.#core.operator.inForce,
      leave: () => this.leave(),
      stop: () => this.stop(),
      operate: (act) => this.#turns.push({ type: 'operate', act }),
      seedOf: seedReader(config),
      explain: (identity, form) => this.#explain(identity, form),
      send: (to, message, isBrief) => this.#sendTo(to, message, isBrief),
      forget: (id) => this.#transport.forget(id),
      after: (ms, act) => setTimeout(act, ms).unref(),
      ...{ secret, incarnationMax },
    });
  }

  #loop(): Turns<Input, Effect> {
    return new Turns<Input, Effect>({
      clock: systemClock,
      store: this.#store,
      handle: (input, now) => {
        if (input.type === 'message') this.#core.onMessage(input.envelope, now);
        else if (input.type === 'outcome') this.#onOutcome(input.outcome, now);
        else if (input.type === 'resolved') this.#core.onResolved(input.host, input.to, now);
        else if (input.type === 'leave') this.#core.leave(now);
        else if (input.type === 'stop') this.#core.stop(now);
        else if (input.type === 'operate') input.act(this.#core.operator, now);
        else this.#begin(now);
      },
      expected: () => this.#core.visits.openCount(),
      due: (now) => this.#core.onDeadline(now),
      committed: () => this.#onCommitted(),
      nextMs: (now) => this.#core.nextDeadlineMs(now),
      take: () => this.#effects.take(),
      isDurable: (effect) => 'durable' in effect && effect.durable,
      perform: (effect) => this.#perform(effect),
      blocked: (forMs) => this.#onBlocked(forMs),
      slow: (tookMs, inputs) => this.#slowTurns.note(tookMs, inputs),
      failed: (error) => this.#failed(error),
    });
  }

  /** Begins to listen and to crawl. On failure, releases all resources and returns the reason. */
  async bind(): Promise<Extract<Started, { ok: false }> | null> {
    const bound = await this.#transport.bind();
    if (!bound.ok) {
      await this.#close();
      await this.#p.networks?.leave();
      this.#attempt('closing the state file', () => this.#store.close());
      this.#p.state.unlock();
      return { ok: false, code: bound.code === 'port_in_use' ? 5 : 4, message: bound.message };
    }
    try {
      recordProcess(this.#p.directory, this.#p.entry.address);
      this.status();
    } catch (error) {
      const { code, reason } = endOfFailure(error, this.#p.directory);
      await this.#end({ code, reason }, null);
      return { ok: false, code, message: reason };
    }
    this.#meter.enable();
    this.#p.log.info({ listen: this.#transport.endpoint }, 'agent is listening');
    this.#turns.push({ type: 'start' });
    const file = join(this.#p.directory, 'state.sqlite');
    const take = (seen: AgentStatus): Input => ({ type: 'operate', act: () => this.#sample(seen) });
    sampleRegularly(() => this.#turns.push(take(this.status())), this.ended);
    watchWal(file, (bytes) => this.#onWal(bytes), this.ended);
    watchPresence(file, (gone) => this.#onGone(gone), this.ended);
    if (!this.#p.state.examined) this.#check();
    return null;
  }

  /** The round is a directive, which must be stored before other agents are contacted. */
  #begin(now: Instant): void {
    const { refresh } = this.#p;
    this.#core.start(now);
    if (refresh !== undefined) this.#core.operator.refresh(refresh, now);
  }

  leave(): void {
    this.#turns.push({ type: 'leave' });
  }

  stop(): void {
    this.#turns.push({ type: 'stop' });
  }

  stopNow(): void {
    void this.#end({ code: 11, reason: 'stopped at once; start the agents again to continue' });
  }

  /** During the exit this is the last status, since the state may no longer be readable. */
  status(): AgentStatus {
    if (this.#isShuttingDown && this.#lastStatus) return this.#lastStatus;
    try {
      this.#lastStatus = this.#readStatus();
    } catch (error) {
      if (!this.#lastStatus) throw error;
      this.#failed(error);
    }
    return this.#lastStatus;
  }

  #readStatus(): AgentStatus {
    const now = systemClock.now();
    const snapshot = this.#core.snapshot(now);
    return {
      ...this.#store.owned(),
      ...snapshot,
      crawl: this.#p.config.name,
      ...this.#p.serves?.(),
      ...(this.#networks && { networks: this.#networks.status() }),
      ...this.#stored.look(snapshot, now.mono),
      diskFreeBytes: freeBytes(this.#p.directory),
      ...this.#meter.at(now.mono, snapshot.fetched),
      traffic: this.#transport.stats().sent,
    };
  }

  // ---- inputs

  #onEnvelope(envelope: Envelope): void {
    const { type } = envelope.message;
    if (type === 'CONTROL' || type === 'CONTROL_ACK') this.#control.onMemberMessage(envelope);
    else this.#turns.pushPatiently({ type: 'message', envelope }, MESSAGE_ALONE_MS);
  }

  #onRefusedFrame(frame: RefusedFrame): void {
    if (this.#isShuttingDown) return;
    const { agents } = this.#p;
    const answer = answerOfRefused(frame, agents, this.#core.snapshot(systemClock.now()), wallMs());
    if (answer) this.#sendTo(answer.to, answer.message);
  }

  #explain(identity: Identity, form: RequestForm): Explanation {
    const { config, entry, state } = this.#p;
    const own = { agent: entry.id, userAgent: config.http.userAgent, read: readRowOf(state.db) };
    const live = (host: string) => {
      const wait = this.#core.visits.waitOf(host) ?? null;
      const isShared = wait?.kind === 'event' && wait.why === 'network';
      const networks = isShared && this.#networks?.waitOf(host, systemClock.now());
      return { open: this.#pipeline.openAt(host), wait, ...(networks && { networks }) };
    };
    return explanationOf({ ...own, identity, form, live });
  }

  /** Called when a connection is ready, which may be after the lease has expired. */
  #mayWrite(host: string): boolean {
    if (this.#isShuttingDown || this.#turns.isBlocked) return false;
    const granted = this.#core.mayWrite(host, systemClock.now());
    if (!granted) this.#turns.kick();
    return granted;
  }

  /**
   * Called while another program locks the state file. The agent sends no heartbeats meanwhile, so
   * its lease expires and others take over its hosts. Open requests are aborted well before that.
   */
  #onBlocked(forMs: number): void {
    if (forMs >= leaseMsOf(this.#p.config) / 2) this.#pipeline.abortAll();
    if (forMs < BLOCKED_MS_MAX) return;
    const seconds = Math.round(forMs / 1000);
    const reason =
      `${join(this.#p.directory, 'state.sqlite')} was locked by another program for ${seconds} s; ` +
      "end that program's transaction and start the agent again: what was committed is kept";
    this.#store.abandon();
    void this.#end({ code: 4, reason });
  }

  #onOutcome(outcome: Outcome, now: Instant): void {
    const { archived } = outcome;
    const position = archived && this.#archiveProgress.note(archived);
    if (position) this.#store.noteArchived(position);
    this.#meter.note(outcome);
    this.#core.onPage(outcome, now);
  }

  #onCommitted(): void {
    this.#core.committed();
    const position = this.#archiveProgress.committed();
    if (position) this.#archive?.confirm(position);
  }

  // ---- effects

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'send':
        return this.#transport.send(effect.to, effect.envelope, effect.lane, effect.brief);
      case 'forget-peer':
        return this.#transport.forget(effect.id);
      case 'request':
        void this.#pipeline
          .run(effect.request)
          .then((outcome) => this.#turns.pushPatiently({ type: 'outcome', outcome }));
        return;
      case 'resolve':
        void this.#addressOf(effect.host, effect.current).then((to) =>
          this.#turns.push({ type: 'resolved', host: effect.host, to }),
        );
        return;
      case 'abort':
        return this.#pipeline.abort(effect.request);
      case 'tell':
        return effect.tell();
      case 'woke':
        return this.#onWoke();
      case 'warn':
      case 'note':
        return this.#p.tell(effect.type, effect.message);
      case 'end':
        this.#attempt('taking the last sample', () => this.#sample());
        void this.#end(effect);
    }
  }

  #sendTo(to: Omit<MemberCard, 'capacity'>, message: Message, isBrief = false): void {
    const { incarnation } = this.#core.snapshot(systemClock.now());
    const from = { id: this.#p.entry.id, inc: incarnation };
    this.#transport.send(to, { from, to: { id: to.id, inc: to.inc }, message }, 'control', isBrief);
  }

  /** After a stall, or without members, the agent may learn from disk that the crawl is complete. */
  #onWoke(): void {
    // An agent that tells others of the end has read the record, and may have got work since.
    if (isComplete(this.#p.config) && !this.#p.completedBy) {
      void this.#end({ code: 0, reason: 'the other agents have completed the crawl' });
    }
  }

  // ---- exit

  #check(): void {
    const { directory, log } = this.#p;
    this.#stopCheck = checkInBackground(
      join(directory, 'state.sqlite'),
      (error) => this.#failed(error),
      (why) => log.warn({ why }, 'the state file could not be examined in the background'),
    ).stop;
  }

  /** Its clock is that of the events, with which a reader compares it. */
  #sample(status = this.status()): void {
    this.#store.samples.save(systemClock.now().mono, status);
  }

  #onWal(bytes: number): void {
    this.#p.log.warn({ bytes }, WAL_REMEDY);
    const act = (operator: Operator, now: Instant) => operator.noteWal(bytes, WAL_REMEDY, now);
    this.#turns.push({ type: 'operate', act });
    if (bytes >= WAL_BYTES_CHECK_MAX) this.#stopCheck();
  }

  /** Further writes would be lost when the process exits, so it exits now. */
  #onGone(file: string): void {
    this.#store.abandon();
    void this.#end({ code: 4, reason: goneReason(file) });
  }

  #failed(error: unknown): void {
    if (this.#isShuttingDown) return;
    const { directory } = this.#p;
    const file = join(directory, 'state.sqlite');
    // If the whole directory was deleted, another of its files may cause the first error.
    if (!existsSync(file)) return this.#onGone(file);
    this.#store.abandon();
    const end = endOfFailure(error, directory);
    if (end.suspect) markSuspect(directory);
    // The reason of a disk failure is complete; for other errors the stack is logged as well.
    void this.#end(end, end.code === 1 ? { err: error } : {});
  }

  /** @param more - additional fields of the last log line; null if the caller reports the exit */
  async #end({ code, reason, left, members }: End, more: object | null = {}): Promise<void> {
    if (this.#isShuttingDown) return;
    this.#isShuttingDown = true;
    const found = { code, reason, ...(code === 0 && !left && this.#completion(members)) };
    this.#stopCheck();
    const level = code === 0 || code === 11 ? 'info' : 'fatal';
    this.#turns.close();
    this.#pipeline.abortAll();
    await this.#transport.close({ lingerMs: LINGER_MS });
    await this.#close();
    this.#p.networks?.close();
    this.#attempt('closing the state file', () => this.#store.close());
    const end: AgentEnd = (await this.#p.beforeUnlock?.(found)) ?? found;
    this.#p.state.unlock();
    this.#meter.disable();
    this.#attempt('removing agent.pid', () => removeProcess(this.#p.directory));
    if (more) this.#p.log[end.unfinished ? 'warn' : level]({ ...more, code: end.code }, end.reason);
    this.#exit.resolve(end);
  }

  #completion(members?: readonly string[]): Pick<AgentEnd, 'completion'> {
    const known = () => this.#core.snapshot(systemClock.now()).members.map(({ id }) => id);
    const round = this.#store.round();
    const agents = members ?? [this.#p.entry.id, ...known()].sort();
    return { completion: { agents, ...(round > 0 && { round }) } };
  }

  /** During the exit, a failure is only logged. */
  #attempt(what: string, act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#p.log.error({ err: error }, `${what} failed`);
    }
  }
}
