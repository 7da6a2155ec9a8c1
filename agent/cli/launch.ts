// `ubiring launch`: the agents of this machine, each a process of its own, watched until the crawl is
// complete. The launch is no coordinator: it starts, shows and ends, and the agents would crawl on
// without it. An agent that dies stays dead, since the others take over what was its; those that
// are suspended when the others are done have nothing left to do, and are killed.

import { monotonicMs, wallMs } from '../runtime/clock.ts';
import { AgentProcess } from './agent-process.ts';
import { writeCompletion } from './completion-file.ts';
import { type Ending, verdictOf } from './endings.ts';
import { type ExitCode, messageOf } from './exit-code.ts';
import { statusEveryMs } from './launch-messages.ts';
import { type PlanFlags, planLaunch } from './launch-plan.ts';
import { launchSummary, nextSteps } from './launch-summary.ts';
import { type CommonFlags, loadResolved, type ResolvedConfig } from './load.ts';
import { print, say } from './output.ts';
import { ProgressMeter } from './progress.ts';
import { ProgressView } from './progress-view.ts';

/** After a second signal: agents that have not ended by then are killed. */
const atOnceMs = 2000;

export async function launch(file: string, flags: CommonFlags & PlanFlags): Promise<ExitCode> {
  if (flags.fresh && flags.refresh) {
    say('--fresh forgets what --refresh asks for again: give one of them');
    return 2;
  }
  const loaded = await loadResolved(file, flags, { allocate: true, warn: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const plan = await planLaunch(config, flags);
  if (plan.kind === 'refused') {
    say(plan.message);
    return plan.code;
  }
  if (plan.kind === 'complete') {
    say(`${config.name}: ${plan.message}`);
    say(nextSteps(config));
    return 0;
  }
  for (const note of plan.notes) say(note);
  const ids = plan.agents.map(({ id }) => id);
  const startedMs = monotonicMs();
  const run = new Launch(config, ids, plan.round);
  // By now signals are heard, which this may bring about.
  say(`${config.name}: ${ids.length} agents, state in ${config.agent.dataDir}`);
  const code = await run.ended;
  // Stands before the summary: whoever reads only its beginning must not change it.
  process.exitCode = code;
  const tookMs = monotonicMs() - startedMs;
  await print(launchSummary(config, run.agents, tookMs));
  say(run.lastWords(code));
  return code;
}

class Launch {
  readonly ended: Promise<ExitCode>;
  readonly agents: readonly AgentProcess[];
  readonly #config: ResolvedConfig;
  readonly #round: number | null;
  readonly #view = new ProgressView();
  readonly #meter: ProgressMeter;
  /** In the order in which they ended. */
  readonly #endings: Ending[] = [];
  readonly #timer: NodeJS.Timeout;
  #resolve: (code: ExitCode) => void = () => {};
  #signals = 0;
  #noted = false;

  constructor(config: ResolvedConfig, ids: readonly string[], round: number | null) {
    this.#config = config;
    this.#round = round;
    this.#meter = new ProgressMeter(config.cluster.backups > 0);
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => this.#onSignal());
    }
    this.agents = ids.map((id) => {
      const start = { config, id, refresh: round ?? undefined };
      return new AgentProcess(start, (agent) => this.#onEnd(agent));
    });
    this.#timer = setInterval(() => this.#look(), statusEveryMs);
  }

  lastWords(code: ExitCode): string {
    if (code === 0) return `the crawl is complete\n${nextSteps(this.#config)}`;
    if (code !== 11) return 'the crawl is not complete; launch again once the cause is gone';
    return 'interrupted; launch again to go on';
  }

  #look(): void {
    const now = monotonicMs();
    const reported = this.agents.map((agent) => ({
      alive: agent.ending === null && !agent.isSilent(now),
      status: agent.status,
    }));
    this.#view.show(this.#meter.at(now, reported), now);
    this.#endSuspended();
  }

  #onSignal(): void {
    this.#signals++;
    if (this.#signals === 1) {
      this.#view.say('stopping: open requests end first; once more ends at once');
      for (const agent of this.agents) agent.send({ type: 'stop' });
      return;
    }
    for (const agent of this.agents) agent.send({ type: 'stopNow' });
    const killAll = () => {
      for (const agent of this.agents) if (agent.ending === null) agent.kill();
    };
    setTimeout(killAll, atOnceMs).unref();
  }

  #onEnd({ id, ending, isTold }: AgentProcess): void {
    if (ending === null) return;
    this.#endings.push(ending);
    const left = this.agents.filter((agent) => agent.ending === null).length;
    const others = left === 0 ? 'none is left' : `${left} go on`;
    if (ending.kind === 'killed' && !this.#isOver()) {
      this.#view.warn(`${id} was killed (${ending.signal}); ${others}`);
    } else if (ending.kind === 'failed') {
      const why = isTold ? '' : `: ${ending.reason}`;
      this.#view.warn(`${id} failed (${ending.code})${why}; ${others}`);
    } else if (ending.kind === 'left') {
      this.#view.say(`${id}: ${ending.reason}; ${others}`);
    } else if (ending.kind === 'complete') this.#noteCompletion();
    this.#endSuspended();
    if (left > 0) return;
    clearInterval(this.#timer);
    this.#view.end();
    this.#resolve(verdictOf(this.#endings, this.#signals > 0));
  }

  /** At the first word of it, so that an agent that wakes up later finds the note and ends. */
  #noteCompletion(): void {
    if (this.#noted) return;
    this.#noted = true;
    const alive = this.agents.filter(({ ending }) => ending?.kind !== 'killed');
    const agents = alive.map(({ id }) => id);
    try {
      writeCompletion(this.#config, {
        ...{ at: wallMs(), agents },
        ...(this.#round !== null && { round: this.#round }),
      });
    } catch (error) {
      this.#view.warn(`complete.json cannot be written: ${messageOf(error)}`);
    }
  }

  /**
   * Nothing is left to do, or nothing is to be done any more: an agent is interrupted where all
   * are told to stop, which `ubiring stop` does without the launch.
   */
  #isOver(): boolean {
    const over = ({ kind }: Ending) => kind === 'complete' || kind === 'interrupted';
    return this.#signals > 0 || this.#endings.some(over);
  }

  /** Once all others have ended, a suspended agent would be waited for in vain. */
  #endSuspended(): void {
    if (!this.#isOver()) return;
    const living = this.agents.filter(({ ending }) => ending === null);
    if (living.length === 0 || !living.every((agent) => agent.isSuspended())) return;
    for (const agent of living) {
      this.#view.say(`${agent.id} is suspended and has nothing left to do: killed`);
      agent.kill();
    }
  }
}
