// The state of the whole cluster for the dashboard, at most once a second and only while somebody
// asks for it. All clients get the same text, so their number hardly matters.

import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { DirectiveInForce } from '../../core/protocol/directives.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { monotonicMs, wallMs } from '../../runtime/clock.ts';
import { randomId } from '../../runtime/random.ts';
import { localAgents } from '../agent/local-agents.ts';
import { launchCommand, type ResolvedConfig, shownCrawl } from '../common/load-config.ts';
import { programName } from '../common/output.ts';
import { foundAgents, stateFileOf } from '../common/query-files.ts';
import { isFree, isLocked, lockedAgents } from '../common/running.ts';
import { confirmed } from '../remote/ask-status.ts';
import { askStatusAndStale, type StatusAndStale, staleTexts } from '../remote/stale-states.ts';
import { type CheckedCompletion, checkedCompletion } from '../state-files/completion-check.ts';
import { COMPLETION_FILE, readCompletion } from '../state-files/completion-file.ts';
import { repairLines } from '../state-files/crawl-files.ts';
import { storedInForce } from '../state-files/stored-directives.ts';
import { type ClusterStatus, clusterStatus } from '../status/status-command.ts';
import { type ListedDirective, listedDirectives } from '../status/status-directives.ts';
import {
  agentProblem,
  CopyLags,
  type Problem,
  problemsOf,
  unreadableOnes,
} from '../top/problems.ts';
import { unreadableStates } from '../top/unreadable-states.ts';
import { stampOf } from './kept-copies.ts';
import type { ReportedStatuses } from './reported-statuses.ts';

const FRESH_MS = 1000;
/** The event stream asks once a second, and each time gets a new state. */
export const STREAM_FRESH_MS = 500;
const GAP_MS_MAX = 10_000;
/** An agent is asked so often, although the agents report. */
const ASKED_MS_MAX = 5000;
const compress = promisify(gzip);

/** The response to `GET /api/v1/cluster`. */
export interface ClusterView extends ClusterStatus {
  /** Name of the crawl. */
  readonly name: string;
  readonly overlay: 'ring' | 'kademlia';
  readonly heartbeatMs: number;
  readonly suspectAfterMs: number;
  readonly backups: number;
  /** Unix milliseconds. */
  readonly at: number;
  /** Why no agent answers; empty if one does. */
  readonly failures: readonly string[];
  /** What is wrong, each with its remedy. */
  readonly problems: readonly Problem[];
}

/** The response as all clients get it. */
export interface SharedText {
  readonly view: ClusterView;
  /** See `askStatusAndStale`. */
  readonly stale: readonly string[];
  readonly type: 'application/json';
  readonly body: Buffer;
  readonly gzipped: Buffer;
  readonly tag: string;
}

/** What the files say while no agent answers. */
interface StoredState {
  readonly stamp: string;
  readonly completion: CheckedCompletion;
  readonly orders: readonly ListedDirective[];
}

/** The last answer of an agent. */
interface Answered {
  readonly at: number;
  /** How many commands had been given before the question. */
  readonly commands: number;
  readonly agents: readonly AgentStatus[];
  readonly orders: readonly DirectiveInForce[];
}

export class ClusterWatch {
  readonly #config: ResolvedConfig;
  readonly #reported: ReportedStatuses;
  #answered: Answered | null = null;
  #last: SharedText | null = null;
  #at = -Infinity;
  /** The question that is being asked; null: none. */
  #asking: Promise<SharedText> | null = null;
  /** Another process would begin the numbers anew, for other texts. */
  readonly #id = randomId();
  /** Counts the commands. An answer shows those before its question. */
  #commands = 0;
  #asked = { number: 0, commands: 0 };
  /** Of the last answer. */
  #shown = 0;
  #lags = new CopyLags();
  #checked: StoredState | null = null;

  constructor(config: ResolvedConfig, reported: ReportedStatuses) {
    this.#config = config;
    this.#reported = reported;
  }

  /**
   * The state of the cluster.
   *
   * @param freshMs - its age may be more only while the answer takes longer
   */
  now(freshMs = FRESH_MS): Promise<SharedText> {
    const isFresh = this.#shown === this.#commands && monotonicMs() - this.#at < freshMs;
    if (this.#last && isFresh) return Promise.resolve(this.#last);
    if (this.#asking && this.#asked.commands === this.#commands) return this.#asking;
    this.#asked = { number: this.#asked.number + 1, commands: this.#commands };
    const asking = this.#ask(this.#asked).finally(() => {
      if (this.#asking === asking) this.#asking = null;
    });
    this.#asking = asking;
    return asking;
  }

  /** The last answer; null: there is none. */
  get last(): SharedText | null {
    return this.#last;
  }

  /** The last state, of a crawl that was completed since; null: it was not. Asks and reads no agent. */
  completed(): ClusterView | null {
    const view = this.#last?.view;
    const completion = readCompletion(this.#config);
    if (!view || view.complete || completion.kind !== 'complete') return null;
    const { at, agents } = completion.note;
    const unreachable = this.#config.cluster.agents.map(({ id }) => id);
    const none = { agents: [], unreachable, failures: [], problems: [] };
    return { ...view, ...none, at: wallMs(), complete: { at, agents } };
  }

  /** Those of these agents whose states in the data directory are stale. Asks only if some may be. */
  async stale(agents = foundAgents(this.#config.agent.dataDir)): Promise<readonly string[]> {
    const { dataDir } = this.#config.agent;
    const free = agents.filter((id) => isFree(path.join(dataDir, id)));
    if (free.length === 0) return [];
    const { stale } = await this.now();
    return free.filter((id) => stale.includes(id));
  }

  /** A command may have changed the cluster: earlier answers, also those that come yet, are old. */
  outdated(): void {
    this.#commands++;
  }

  async #ask({ number, commands }: { number: number; commands: number }): Promise<SharedText> {
    const { view, stale } = await this.#view(commands);
    const body = Buffer.from(JSON.stringify(view));
    const tag = `"${this.#id}-${number}"`;
    const gzipped = await compress(body);
    const text = { view, stale, type: 'application/json', body, gzipped, tag } as const;
    // The answer to a later question may already be here.
    if (number === this.#asked.number) {
      [this.#last, this.#at, this.#shown] = [text, monotonicMs(), commands];
    }
    return text;
  }

  /** The check reads whole files, so it is repeated only after a change. */
  async #stored(): Promise<StoredState> {
    const { dataDir } = this.#config.agent;
    const found = foundAgents(dataDir);
    const files = found.map((id) => stateFileOf(dataDir, id));
    const logs = files.map((file) => `${file}-wal`);
    // Files of agents that run are not checked.
    const locked = found.filter((id) => isLocked(path.join(dataDir, id)));
    const stamp = `${files} ${locked} ${stampOf([...files, ...logs, path.join(dataDir, COMPLETION_FILE)])}`;
    if (this.#checked?.stamp === stamp) return this.#checked;
    const { local } = await localAgents(this.#config.cluster.agents);
    const here = local.map(({ id }) => id);
    const completion = checkedCompletion(this.#config, here);
    const { directives, agents } = storedInForce(this.#config);
    this.#checked = { stamp, completion, orders: listedDirectives(directives, agents) };
    return this.#checked;
  }

  /** An answer made of the reports of all agents; null: one has to be asked. */
  #fromReports(): StatusAndStale | null {
    // Only the walk of the overlay kademlia finds out whether all agents know each other.
    if (this.#config.cluster.overlay !== 'ring' || this.#answered === null) return null;
    const { at, commands, agents: asked, orders } = this.#answered;
    if (commands !== this.#commands || monotonicMs() - at > ASKED_MS_MAX) return null;
    const agents = this.#reported.whole();
    if (agents === null) return null;
    const directives = asked[0]?.directives;
    const isKnown = [...asked, ...agents].every((one) => one.directives === directives);
    // A report may be older than the answer.
    const isNewer = asked.every((old) => {
      const now = agents.find(({ id }) => id === old.id);
      return now?.incarnation !== old.incarnation || now.uptimeMs >= old.uptimeMs;
    });
    if (!isKnown || !isNewer) return null;
    const result = { agents, unreachable: [], orders: confirmed(orders, agents, agents[0]?.id) };
    // All agents of the cluster run here.
    return { answer: { ok: true, by: '', result }, stale: [] };
  }

  async #askAgents(commands: number): Promise<StatusAndStale> {
    const asked = await askStatusAndStale(this.#config);
    if (asked.answer.ok) {
      const { agents, orders } = asked.answer.result as Pick<Answered, 'agents' | 'orders'>;
      this.#answered = { at: monotonicMs(), commands, agents, orders };
    }
    return asked;
  }

  async #view(commands: number): Promise<Pick<SharedText, 'view' | 'stale'>> {
    const { name, cluster } = this.#config;
    const { overlay, backups, failureDetector } = cluster;
    const common = { name, overlay, backups, ...failureDetector, at: wallMs() };
    const ids = cluster.agents.map(({ id }) => id);
    const { answer, stale } = this.#fromReports() ?? (await this.#askAgents(commands));
    if (answer.ok) {
      const status = clusterStatus(answer.result, ids);
      // A lag at two moments that are far apart need not have lasted between them.
      if (monotonicMs() - this.#at > GAP_MS_MAX) this.#lags = new CopyLags();
      const lagging = this.#lags.stuckAt(monotonicMs(), status.agents);
      const away = [...status.unreachable, ...(status.left ?? [])];
      const unreadable = unreadableStates(this.#config.agent.dataDir, away);
      const old = staleTexts(stale, this.#config.agent.dataDir).map(agentProblem);
      const problems = [...problemsOf(status, { lagging, unreadable }, this.#config), ...old];
      return { view: { ...common, ...status, failures: [], problems }, stale };
    }
    return { view: await this.#silentView(common, answer.failures), stale };
  }

  /** While no agent answers. */
  async #silentView(
    common: Omit<ClusterView, keyof ClusterStatus | 'failures' | 'problems'>,
    failures: readonly string[],
  ): Promise<ClusterView> {
    const ids = this.#config.cluster.agents.map(({ id }) => id);
    const { completion, orders } = await this.#stored();
    const none = { ...common, agents: [], unreachable: ids, orders };
    if (completion.kind === 'complete' || completion.kind === 'unsound') {
      const { at, agents } = completion.note;
      const ended = { ...none, failures: [], complete: { at, agents } };
      if (completion.kind === 'complete') return { ...ended, problems: [] };
      const remedy = repairLines(this.#config, completion.copies).join(' ');
      const problems = completion.agents.map(({ agent, why }) => {
        return { text: `${agent}: ${why}`, remedy, place: 'replay', isGrave: true } as const;
      });
      return { ...ended, unsound: completion.agents, problems };
    }
    const isPaused = orders.some(({ kind }) => kind === 'pause');
    const why = `${failures[0] ?? 'none has been started'}${isPaused ? '; the crawl is paused' : ''}`;
    const text = `no agent answers: ${why}`;
    const running = lockedAgents(this.#config.agent.dataDir, this.#config.cluster.agents);
    const again = launchCommand(this.#config);
    const remedy =
      running.length > 0
        ? `wait, or end them: ${programName()} kill ${shownCrawl(this.#config)} ${running.join(' ')}; then ${again}`
        : `start them: ${again}`;
    const silent: Problem = { text, remedy, place: 'replay', isGrave: true };
    const unreadable = unreadableStates(this.#config.agent.dataDir, ids);
    const problems = [silent, ...unreadableOnes(unreadable, this.#config)];
    return { ...none, failures, problems };
  }
}
