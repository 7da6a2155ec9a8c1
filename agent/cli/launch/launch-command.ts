// `ubiring launch`: the agents of this machine, each a process of its own, watched until the crawl is
// complete. The launch is no coordinator: it starts, shows and ends, and the agents would crawl on
// without it. An agent that dies stays dead, since the others take over what was its; those that
// are suspended when the others are done have nothing left to do, and are killed.

import type { Config } from '../../../config/config.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import { judgePorts } from '../agent/agent-ports.ts';
import { type EndKind, statusEveryMs } from '../agent/launch-messages.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { lockLaunch } from '../common/launch-lock.ts';
import {
  type CommonFlags,
  load,
  type ResolvedConfig,
  startCommand,
  withEndpoints,
} from '../common/load-config.ts';
import { nextSteps } from '../common/next-steps.ts';
import { durationText, print, say } from '../common/output.ts';
import { warnOfPrivateSeeds } from '../common/private-seeds.ts';
import { AgentProcess } from './agent-process.ts';
import { type Ending, verdictOf } from './endings.ts';
import {
  inUseOf,
  judgeFresh,
  judgeLaunch,
  type PlanFlags,
  prepareLaunch,
  type Start,
} from './launch-plan.ts';
import { ProgressMeter } from './launch-progress.ts';
import { launchSummary } from './launch-summary.ts';
import { endMsMax, Overdue } from './overdue.ts';
import { ProgressView } from './progress-view.ts';
import { mayRestart, Restarts } from './restarts.ts';

/** After a second signal: agents that have not ended by then are killed. */
const atOnceMs = 2000;
/** What makes the process of an agent end itself without a word. */
const crashRemedy =
  'out of memory or of open files, or a fault of the program, as said above; raise the limits of ' +
  'memory or of files (ulimit -n 4096), or lower agent.threads';
const memoryRemedy =
  'by the system, it seems, for want of memory; give the machine or the container more of it, or ' +
  'lower agent.threads';
/** How long the summary waits for a reader of stdout. */
const printMsMax = 10_000;

export async function launch(file: string, flags: CommonFlags & PlanFlags): Promise<ExitCode> {
  if (flags.fresh && flags.refresh) {
    say('--fresh forgets what --refresh asks for again: give one of them');
    return 2;
  }
  if (flags.deleteArchives && !flags.fresh) {
    say('--delete-archives is for --fresh, which keeps them otherwise');
    return 2;
  }
  if (flags.repair && (flags.fresh || flags.refresh)) {
    say('--repair restores what --fresh forgets and --refresh asks for again: give one of them');
    return 2;
  }
  const loaded = load(file, flags, { warn: true });
  if (!loaded.ok) return loaded.code;
  warnOfPrivateSeeds(loaded.config);
  // Before ports are allocated: a launch that is refused changes nothing.
  const start = await judgeLaunch(loaded.config, flags);
  if (start.kind === 'refused') {
    say(start.message);
    return start.code;
  }
  for (const note of start.notes) say(note);
  if (start.kind === 'complete') {
    say(`${loaded.config.name}: ${start.message}`);
    say(nextSteps(loaded.config));
    return 0;
  }
  const lock = lockLaunch(loaded.config);
  if (!lock.ok) {
    say(lock.message);
    return lock.code;
  }
  try {
    return await launchLocked(loaded.config, start, flags, lock.unlock);
  } finally {
    lock.unlock();
  }
}

/** @param unlock - to be called when the agents hold their own locks; more than once changes nothing */
async function launchLocked(
  loaded: Config,
  start: Start,
  flags: PlanFlags,
  unlock: () => void,
): Promise<ExitCode> {
  const inUse = inUseOf(loaded, start.ids);
  if (inUse !== null) {
    say(inUse);
    return 4;
  }
  // All that can refuse the launch comes before what it writes.
  const ports = await judgePorts(loaded, start.ids);
  if (!ports.ok) {
    say(ports.message);
    return 5;
  }
  const fresh = flags.fresh ? judgeFresh(loaded, start, flags) : null;
  if (fresh !== null && 'code' in fresh) {
    say(fresh.message);
    return fresh.code;
  }
  for (const why of ports.taken) say(`${why}: it gets another port`);
  const resolved = await withEndpoints(loaded, { allocate: true, moving: ports.moving });
  if (!resolved.ok) return resolved.code;
  const { config } = resolved;
  const refused = prepareLaunch(config, start, { repair: flags.repair, fresh }, say);
  if (refused !== null) {
    say(refused.message);
    return refused.code;
  }
  const startedMs = monotonicMs();
  const run = new Launch({ config, restart: flags.restart ?? false, onStarted: unlock, ...start });
  // By now signals are heard, which this may bring about.
  say(`${config.name}: ${start.ids.length} agents, state in ${config.agent.dataDir}`);
  const code = await run.ended;
  // Stands before the summary: whoever reads only its beginning must not change it.
  process.exitCode = code;
  const tookMs = monotonicMs() - startedMs;
  await printed(launchSummary(config, run.agents, tookMs));
  say(run.lastWords(code));
  return code;
}

/** Where nobody reads stdout the launch ends all the same. */
async function printed(text: string): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const waited = new Promise<void>((resolve) => {
    late = setTimeout(resolve, printMsMax);
  });
  await Promise.race([print(text), waited]);
  clearTimeout(late);
}

interface LaunchOptions extends Pick<Start, 'ids' | 'round' | 'awaits'> {
  readonly config: ResolvedConfig;
  /** Whether agents that die are started again. */
  readonly restart: boolean;
  /** Called, perhaps more than once, when each agent holds its lock or has ended. */
  readonly onStarted: () => void;
}

class Launch {
  readonly ended: Promise<ExitCode>;
  /** The last process of each agent. */
  readonly agents: AgentProcess[];
  readonly #options: LaunchOptions;
  readonly #view = new ProgressView();
  readonly #meter: ProgressMeter;
  readonly #overdue = new Overdue();
  /** The last ending of each agent, in the order in which they ended. */
  readonly #endings = new Map<string, Ending>();
  readonly #restarts = new Restarts();
  /** Agents that are about to be started again. */
  readonly #waiting = new Map<string, NodeJS.Timeout>();
  readonly #timer: NodeJS.Timeout;
  #resolve: (code: ExitCode) => void = () => {};
  #signals = 0;

  constructor(options: LaunchOptions) {
    const { config, ids } = options;
    this.#options = options;
    this.#meter = new ProgressMeter(config.cluster.backups > 0);
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => this.#onSignal());
    }
    this.agents = ids.map((id) => this.#start(id));
    this.#timer = setInterval(() => this.#look(), statusEveryMs);
  }

  #start(id: string): AgentProcess {
    const { config, round, awaits } = this.#options;
    const start = { config, id, refresh: round ?? undefined, awaits };
    return new AgentProcess(start, (agent) => this.#onEnd(agent));
  }

  lastWords(code: ExitCode): string {
    if (code === 0) return `the crawl is complete\n${nextSteps(this.#options.config)}`;
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
    if (reported.every(({ status }, k) => status !== null || this.agents[k]?.ending !== null)) {
      this.#options.onStarted();
    }
    this.#endSuspended();
    this.#endOverdue(now);
  }

  #onSignal(): void {
    this.#signals++;
    if (this.#signals === 1) {
      this.#cancelRestarts();
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

  #onEnd(agent: AgentProcess): void {
    const { id, ending, isTold } = agent;
    if (ending === null) return;
    this.#endings.delete(id);
    this.#endings.set(id, ending);
    if (this.#isOver()) this.#cancelRestarts();
    const left = this.agents.filter((one) => one.ending === null).length;
    const next = `${left === 0 ? 'none is left' : `${left} go on`}${this.#next(agent)}`;
    if (ending.kind === 'killed' && !this.#isOver()) {
      this.#view.warn(`${id} was killed (${ending.signal}); ${next}`);
    } else if (ending.kind === 'crashed') {
      const what = ending.outOfMemory ? 'was killed' : 'crashed';
      const remedy = ending.outOfMemory ? memoryRemedy : crashRemedy;
      this.#view.warn(`${id} ${what} (${ending.signal}): ${remedy}; ${next}`);
    } else if (ending.kind === 'failed') {
      const why = isTold ? '' : `: ${ending.reason}`;
      this.#view.warn(`${id} failed (${ending.code})${why}; ${next}`);
    } else if (ending.kind === 'left') {
      this.#view.say(`${id}: ${ending.reason}; ${next}`);
    }
    this.#endSuspended();
    this.#endIfDone();
  }

  /** What becomes of the agent, or how to start it again; '' where it has no more to do. */
  #next({ id, ending, startedAt, status }: AgentProcess): string {
    if (ending === null || this.#isOver() || ending.kind === 'left') return '';
    const { config, restart } = this.#options;
    const ran = status !== null ? 'now' : this.#restarts.has(id) ? 'before' : 'never';
    if (restart && mayRestart(ending, ran)) {
      const waitMs = this.#restarts.waitMs(id, monotonicMs() - startedAt);
      this.#waiting.set(
        id,
        setTimeout(() => this.#restart(id), waitMs),
      );
      return `; it is started again in ${durationText(waitMs)}`;
    }
    return `; to start it again: ${startCommand(id, config)}`;
  }

  #restart(id: string): void {
    this.#waiting.delete(id);
    const k = this.agents.findIndex((agent) => agent.id === id);
    this.agents[k] = this.#start(id);
  }

  #cancelRestarts(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#waiting.size > 0 || this.agents.some(({ ending }) => ending === null)) return;
    clearInterval(this.#timer);
    this.#view.end();
    this.#resolve(verdictOf([...this.#endings.values()], this.#signals > 0));
  }

  /**
   * Nothing is left to do, or nothing is to be done any more: an agent is interrupted where all
   * are told to stop, which `ubiring stop` does without the launch.
   */
  #isOver(): boolean {
    const isEnd = (kind: EndKind | Ending['kind'] | null) =>
      kind === 'complete' || kind === 'interrupted';
    return (
      this.#signals > 0 ||
      [...this.#endings.values()].some(({ kind }) => isEnd(kind)) ||
      this.agents.some(({ lastWord }) => isEnd(lastWord))
    );
  }

  /** Whatever holds such an agent up, the launch ends within a bound. */
  #endOverdue(now: number): void {
    const waited = this.agents.map((agent) => {
      const { id, ending, lastWord } = agent;
      return { id, isAlive: ending === null, hasLastWord: lastWord !== null };
    });
    const ids = this.#overdue.at(now, waited, this.#isOver());
    for (const agent of this.agents.filter(({ id }) => ids.includes(id))) {
      const why = `should have ended ${endMsMax / 1000} s ago`;
      this.#view.warn(`${agent.id} (process ${agent.pid}) ${why}: killed; its state is kept`);
      agent.kill();
    }
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
