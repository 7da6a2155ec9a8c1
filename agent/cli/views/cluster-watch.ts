// The state of the whole cluster for the dashboard, at most once a second and only while somebody
// asks for it. All clients get the same text, so their number hardly matters.

import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { monotonicMs, wallMs } from '../../runtime/clock.ts';
import { randomId } from '../../runtime/random.ts';
import { localAgents } from '../agent/local-agents.ts';
import { launchCommand, type ResolvedConfig } from '../common/load-config.ts';
import { foundAgents, stateFileOf } from '../common/query-files.ts';
import { isLocked } from '../common/running.ts';
import { askStatus } from '../remote/ask-status.ts';
import { type CheckedCompletion, checkedCompletion } from '../state-files/completion-check.ts';
import { COMPLETION_FILE } from '../state-files/completion-file.ts';
import { repairLines } from '../state-files/crawl-files.ts';
import { type ClusterStatus, clusterStatus } from '../status/status-command.ts';
import { CopyLags, type Problem, problemsOf, unreadableOnes } from '../top/problems.ts';
import { unreadableStates } from '../top/unreadable-states.ts';
import { stampOf } from './kept-copies.ts';

const FRESH_MS = 1000;
const GAP_MS_MAX = 10_000;
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
  readonly type: 'application/json';
  readonly body: Buffer;
  readonly gzipped: Buffer;
  readonly tag: string;
}

export class ClusterWatch {
  readonly #config: ResolvedConfig;
  #last: SharedText | null = null;
  #at = -Infinity;
  /** The question that is being asked; null: none. */
  #asking: Promise<SharedText> | null = null;
  /** Another process would begin the numbers anew, for other texts. */
  readonly #id = randomId();
  /** Of the last question. */
  #number = 0;
  /** The last answer, and that of the question that is being asked, are older than a command. */
  #isOutdated = false;
  #lags = new CopyLags();
  #checked: { readonly stamp: string; readonly completion: CheckedCompletion } | null = null;

  constructor(config: ResolvedConfig) {
    this.#config = config;
  }

  /** The state of the cluster, at most a second old, or as old as the answer takes. */
  now(): Promise<SharedText> {
    const isFresh = !this.#isOutdated && monotonicMs() - this.#at < FRESH_MS;
    if (this.#last && isFresh) return Promise.resolve(this.#last);
    if (this.#asking && !this.#isOutdated) return this.#asking;
    this.#isOutdated = false;
    const asking = this.#ask(++this.#number).finally(() => {
      if (this.#asking === asking) this.#asking = null;
    });
    this.#asking = asking;
    return asking;
  }

  /** A command may have changed the cluster: the next call of `now` asks again. */
  outdated(): void {
    this.#isOutdated = true;
  }

  async #ask(number: number): Promise<SharedText> {
    const view = await this.#view();
    const body = Buffer.from(JSON.stringify(view));
    const tag = `"${this.#id}-${number}"`;
    const gzipped = await compress(body);
    const text = { view, type: 'application/json', body, gzipped, tag } as const;
    // The answer to a later question may already be here.
    if (number === this.#number) [this.#last, this.#at] = [text, monotonicMs()];
    return text;
  }

  /** The check reads whole files, so it is repeated only after a change. */
  async #completion(): Promise<CheckedCompletion> {
    const { dataDir } = this.#config.agent;
    const found = foundAgents(dataDir);
    const files = found.map((id) => stateFileOf(dataDir, id));
    const logs = files.map((file) => `${file}-wal`);
    // Files of agents that run are not checked.
    const locked = found.filter((id) => isLocked(path.join(dataDir, id)));
    const stamp = `${files} ${locked} ${stampOf([...files, ...logs, path.join(dataDir, COMPLETION_FILE)])}`;
    if (this.#checked?.stamp === stamp) return this.#checked.completion;
    const { local } = await localAgents(this.#config.cluster.agents);
    const here = local.map(({ id }) => id);
    const completion = checkedCompletion(this.#config, here);
    this.#checked = { stamp, completion };
    return completion;
  }

  async #view(): Promise<ClusterView> {
    const { name, cluster } = this.#config;
    const { overlay, backups, failureDetector } = cluster;
    const common = { name, overlay, backups, ...failureDetector, at: wallMs() };
    const ids = cluster.agents.map(({ id }) => id);
    const answer = await askStatus(this.#config);
    if (answer.ok) {
      const status = clusterStatus(answer.result, ids);
      // A lag at two moments that are far apart need not have lasted between them.
      if (monotonicMs() - this.#at > GAP_MS_MAX) this.#lags = new CopyLags();
      const lagging = this.#lags.stuckAt(monotonicMs(), status.agents);
      const away = [...status.unreachable, ...(status.left ?? [])];
      const unreadable = unreadableStates(this.#config.agent.dataDir, away);
      const problems = problemsOf(status, { lagging, unreadable }, this.#config);
      return { ...common, ...status, failures: [], problems };
    }
    const { failures } = answer;
    const completion = await this.#completion();
    const none = { ...common, agents: [], unreachable: ids };
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
    const text = `no agent answers: ${failures[0] ?? 'none has been started'}`;
    const remedy = `start them, and the crawl continues: ${launchCommand(this.#config)}`;
    const silent: Problem = { text, remedy, place: 'replay', isGrave: true };
    const unreadable = unreadableStates(this.#config.agent.dataDir, ids);
    const problems = [silent, ...unreadableOnes(unreadable, this.#config)];
    return { ...none, failures, problems };
  }
}
