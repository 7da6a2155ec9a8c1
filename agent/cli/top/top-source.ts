// Asks a running cluster again and again. One agent is asked for the status of all, and the one that
// has answered last is asked first, so that agents which are silent cost no time.

import type { AgentEntry } from '../../../config/config.ts';
import type { ClusterAnswer } from '../common/ask.ts';
import { asked, type ResolvedConfig } from '../common/load-config.ts';
import { walk } from '../common/walk.ts';
import { askStatus, hasJoined, walkedStatus } from '../remote/ask-status.ts';
import { isStatusOf } from '../remote/status-check.ts';
import { type ClusterStatus, clusterStatus } from '../status/status-command.ts';
import { type TopFrame, TopFrames } from './top-frame.ts';

export class TopSource {
  readonly #config: ResolvedConfig;
  readonly #ids: readonly string[];
  readonly #frames: TopFrames;
  #entry: string | null = null;

  constructor(config: ResolvedConfig) {
    this.#config = config;
    this.#ids = config.cluster.agents.map(({ id }) => id);
    this.#frames = new TopFrames(config);
  }

  async ask(): Promise<ClusterAnswer> {
    const all = asked(this.#config);
    const isFirst = ({ id }: { readonly id: string }) => id === this.#entry;
    const agents = [...all.agents.filter(isFirst), ...all.agents.filter((one) => !isFirst(one))];
    const whom = { ...all, agents };
    if (this.#config.cluster.overlay === 'ring') return this.#askRing(agents.filter(isFirst));
    const walked = await walk(whom, { verb: 'status', args: [], isReadable: isStatusOf });
    if (walked.results.size === 0) return { ok: false, failures: walked.failures };
    this.#entry = walked.begins[0]?.me.id ?? null;
    return { ok: true, by: this.#entry ?? '', result: walkedStatus(walked) };
  }

  /** @param first - the agent that has answered last; empty: none has */
  async #askRing(first: readonly AgentEntry[]): Promise<ClusterAnswer> {
    if (first.length > 0) {
      const answer = await askStatus(this.#config, { ...asked(this.#config), agents: first });
      if (!answer.ok) this.#entry = null;
      else if (hasJoined((answer.result as ClusterStatus).agents, answer.by)) return answer;
    }
    const answer = await askStatus(this.#config);
    this.#entry = answer.ok ? answer.by : null;
    return answer;
  }

  /** @param now - monotonic milliseconds */
  frameOf(answer: ClusterAnswer, now: number): TopFrame {
    return this.#frames.next(this.#clusterOf(answer), now);
  }

  /** Without an answer, all agents known so far are unreachable. */
  #clusterOf(answer: ClusterAnswer): ClusterStatus {
    const { known } = this.#frames;
    if (!answer.ok) return clusterStatus({ agents: [], unreachable: known }, this.#ids);
    return clusterStatus(answer.result, this.#ids);
  }
}
