// Asks a running cluster again and again. One agent is asked for the status of all, and the one that
// has answered last is asked first, so that agents which are silent cost no time.

import { askInTurn, type ClusterAnswer } from '../common/ask.ts';
import { asked, type ResolvedConfig } from '../common/load-config.ts';
import { walk } from '../common/walk.ts';
import { walkedStatus } from '../remote/ask-status.ts';
import { isStatusOf, statusesIn } from '../remote/status-check.ts';
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
    if (this.#config.cluster.overlay === 'ring') {
      const answer = await askInTurn(whom, 'status', []);
      if (!answer.ok) return answer;
      const result = statusesIn(answer.result);
      if (result === null) return { ok: false, failures: [`unreadable answer of ${answer.by}`] };
      this.#entry = answer.by;
      return { ...answer, result };
    }
    const walked = await walk(whom, { verb: 'status', args: [], isReadable: isStatusOf });
    if (walked.results.size === 0) return { ok: false, failures: walked.failures };
    this.#entry = walked.begins[0]?.me.id ?? null;
    return { ok: true, by: this.#entry ?? '', result: walkedStatus(walked) };
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
