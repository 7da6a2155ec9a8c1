// `ubiring launch`: starts the agents of this machine, one process each, and shows their progress
// until the crawl is complete. The launch does not coordinate the agents, which would finish the
// crawl without it. Without --restart a dead agent stays dead: the others take over its hosts.

import type { Config } from '../../../config/config.ts';
import { resolveAgents } from '../../../config/file/ports.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import { judgePorts } from '../agent/agent-ports.ts';
import { type EndKind, statusEveryMs } from '../agent/launch-messages.ts';
import { caller } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { lockLaunch } from '../common/launch-lock.ts';
import {
  type CommonFlags,
  crawlTitle,
  load,
  type ResolvedConfig,
  startCommand,
  withEndpoints,
} from '../common/load-config.ts';
import { durationText, print, say, version, warn } from '../common/output.ts';
import { warnOfPrivateSeeds } from '../common/private-seeds.ts';
import type { HttpProcess } from '../http/http-process.ts';
import { nextSteps } from '../query/next-steps.ts';
import { withoutLeft } from '../remote/left-agents.ts';
import { completionKind } from '../state-files/completion-check.ts';
import { readCompletion, removeCompletion } from '../state-files/completion-file.ts';
import type { ClusterStatus } from '../status/status-command.ts';
import { TopFrames } from '../top/top-frame.ts';
import { type AgentExit, interruptionText, verdictOf } from './agent-exits.ts';
import { AgentProcess } from './agent-process.ts';
import {
  inUseOf,
  judgeFresh,
  judgeLaunch,
  type PlanFlags,
  prepareLaunch,
  type Start,
} from './launch-plan.ts';
import { launchSummary } from './launch-summary.ts';
import { endMsMax, Overdue } from './overdue.ts';
import { ProgressView } from './progress-view.ts';
import { mayRestart, Restarts } from './restarts.ts';

/** After a second signal the agents have this time to exit before they are killed. */
const atOnceMs = 2000;
const crashRemedy =
  'out of memory or of open files, or a bug (see the messages above); raise the limits of ' +
  'memory or of files (ulimit -n 4096), or lower agent.threads';
const memoryRemedy =
  'probably by the system for lack of memory; give the machine or the container more memory, or ' +
  'lower agent.threads';
/** The launch exits even if nobody reads its summary from stdout within this time. */
const printMsMax = 10_000;

export async function launch(file: string, flags: CommonFlags & PlanFlags): Promise<ExitCode> {
  const conflict = conflictOf(flags);
  if (conflict !== null) {
    say(conflict);
    return 2;
  }
  const loaded = load(file, flags, { warn: true });
  if (!loaded.ok) return loaded.code;
  warnOfPrivateSeeds(loaded.config);
  // Before ports are allocated, so that a refused launch changes nothing.
  const start = await judgeLaunch(loaded.config, flags);
  if (start.kind === 'refused') {
    say(start.message);
    return start.code;
  }
  for (const note of start.notes) say(note);
  if (start.kind === 'complete') {
    say(`${crawlTitle(loaded.config)}: ${start.message}`);
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

function conflictOf({ fresh, refresh, repair, deleteArchives }: PlanFlags): string | null {
  if (fresh && refresh) {
    return '--fresh deletes the pages that --refresh requests again: give only one of them';
  }
  if (deleteArchives && !fresh) return '--delete-archives needs --fresh';
  if (!repair || !(fresh || refresh)) return null;
  return '--repair cannot be combined with --fresh or --refresh: give only one of them';
}

/** What the agents would exit with, but after `--fresh` has deleted their state. Null: nothing. */
async function redisRefusal(config: Config, ids: readonly string[]): Promise<string | null> {
  const { connectNetworks } = await import('../../composition/network-parts.ts');
  const resolved = await resolveAgents(config, { allocate: false });
  const agents = resolved.ok ? resolved.agents : [];
  const placed = { ...config, cluster: { ...config.cluster, agents } };
  const connected = await connectNetworks(placed, caller().env, ids);
  if (!connected.ok) return connected.message;
  await connected.networks?.leave();
  return null;
}

/** @param unlock - called when the agents hold their own locks; may be called more than once */
async function launchLocked(
  loaded: Config,
  start: Start,
  flags: PlanFlags,
  unlock: () => void,
): Promise<ExitCode> {
  const inUse = inUseOf(loaded, start.ids, flags);
  if (inUse !== null) {
    say(inUse);
    return 4;
  }
  // All checks that can refuse the launch precede its first write on disk.
  const ports = await judgePorts(loaded, start.ids);
  if (!ports.ok) {
    say(ports.message);
    return 5;
  }
  const { wrongTokens } = await import('../http/token-source.ts');
  const wrong = wrongTokens(loaded.monitor, caller().env);
  if (wrong !== null) {
    say(wrong);
    return 4;
  }
  const fresh = flags.fresh ? judgeFresh(loaded, start, flags) : null;
  if (fresh !== null && 'code' in fresh) {
    say(fresh.message);
    return fresh.code;
  }
  // Last, because it announces this network in its Redis, though it leaves nothing there.
  const unwanted = flags.fresh ? await redisRefusal(loaded, start.ids) : null;
  if (unwanted !== null) {
    say(unwanted);
    return 5;
  }
  for (const why of ports.taken) say(`${why}: it gets another port`);
  const resolved = await withEndpoints(loaded, { allocate: true, moving: ports.moving });
  if (!resolved.ok) return resolved.code;
  const { config } = resolved;
  const refused = prepareLaunch(config, start, fresh, say);
  if (refused !== null) {
    say(refused.message);
    return refused.code;
  }
  const startedMs = monotonicMs();
  const isServing = flags.monitor !== false && config.monitor.listen === null;
  const restart = flags.restart ?? false;
  const run = new Launch({ config, restart, onStarted: unlock, ...start });
  // After the signal handlers are set: a reader of this line may send a signal at once.
  say(`${crawlTitle(config)}: ${startedText(config, start.ids)}, state in ${config.agent.dataDir}`);
  // After the agents: they need the files that this process may open, if they are few.
  const http = isServing ? await startedHttp(config) : null;
  if (http) run.serve(http);
  const code = await run.ended;
  http?.close();
  // Set before the summary: if its reader closes the pipe early, the exit code stays the same.
  process.exitCode = code;
  const tookMs = monotonicMs() - startedMs;
  await printed(launchSummary(config, run.agents, tookMs));
  say(run.summary(code));
  return code;
}

/** How many agents of the config this launch starts. */
function startedText({ cluster }: ResolvedConfig, ids: readonly string[]): string {
  const all = cluster.agents.length;
  if (ids.length < all) return `${ids.length} of ${all} agents`;
  return ids.length === 1 ? '1 agent' : `${ids.length} agents`;
}

/** A crawl does not fail because its dashboard cannot be served. */
async function startedHttp(config: ResolvedConfig): Promise<HttpProcess | null> {
  const { startHttp } = await import('../http/http-process.ts');
  const listen = { host: '127.0.0.1', port: 0 };
  const { env } = caller();
  const started = startHttp({ config, listen, env, version: version(), onError: warn });
  if (typeof started !== 'string') return started;
  warn(`the dashboard is not served: ${started}`);
  return null;
}

/** Prints, but waits only `printMsMax` for a reader. */
async function printed(text: string): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const waited = new Promise<void>((resolve) => {
    late = setTimeout(resolve, printMsMax);
  });
  await Promise.race([print(text), waited]);
  clearTimeout(late);
}

interface LaunchOptions extends Pick<Start, 'ids' | 'round' | 'awaits' | 'completedBy'> {
  readonly config: ResolvedConfig;
  /** Whether agents that die are restarted. */
  readonly restart: boolean;
  /** Called, perhaps more than once, when each agent holds its lock or has exited. */
  readonly onStarted: () => void;
}

class Launch {
  readonly #exit = Promise.withResolvers<ExitCode>();
  readonly ended = this.#exit.promise;
  /** The latest process of each agent. */
  readonly agents: AgentProcess[];
  readonly #options: LaunchOptions;
  readonly #view: ProgressView;
  readonly #frames: TopFrames;
  readonly #overdue = new Overdue();
  /** The latest exit of each agent, in the order of these exits. */
  readonly #exits = new Map<string, AgentExit>();
  readonly #restarts = new Restarts();
  /** Timers of the agents that wait for their restart. */
  readonly #waiting = new Map<string, NodeJS.Timeout>();
  readonly #timer: NodeJS.Timeout;
  #signals = 0;
  /** Serves the dashboard; null: nothing does. */
  #http: HttpProcess | null = null;
  #dashboard: string | null = null;

  constructor(options: LaunchOptions) {
    const { config, ids } = options;
    this.#options = options;
    this.#frames = new TopFrames(config);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => this.#onSignal());
    }
    const dashboard = () => this.#dashboard;
    const onStop = () => this.#onSignal();
    const running = () => this.#running().map(({ id }) => id);
    const parts = { config, onStop, dashboard, running };
    this.#view = new ProgressView(parts);
    this.agents = ids.map((id) => this.#start(id));
    this.#timer = setInterval(() => this.#look(), statusEveryMs);
  }

  #start(id: string): AgentProcess {
    const { config, round, awaits } = this.#options;
    const isOver = readCompletion(config).kind === 'complete';
    const completedBy = isOver ? this.#options.completedBy : undefined;
    const start = { config, id, refresh: round ?? undefined, awaits, completedBy };
    return new AgentProcess(start, (agent) => this.#onEnd(agent));
  }

  /** The dashboard is shown once it is served. */
  serve(http: HttpProcess): void {
    this.#http = http;
    http.url.then(
      (url) => this.#serves(url),
      () => {},
    );
  }

  /**
   * @param url - of the dashboard
   * @param by - the agent that serves it; absent: this process
   */
  #serves(url: string, by?: string): void {
    this.#dashboard = url;
    this.#view.say(`dashboard: ${url}${by === undefined ? '' : `, served by ${by}`}`);
  }

  /** With `monitor.listen`, each agent serves the dashboard of all: the first one suffices. */
  #showDashboard(): void {
    if (this.#dashboard !== null) return;
    const serving = this.agents.find(({ status }) => status?.dashboard !== undefined);
    if (serving) this.#serves(serving.status!.dashboard!, serving.id);
  }

  summary(code: ExitCode): string {
    if (code === 0) return `the crawl is complete\n${nextSteps(this.#options.config)}`;
    if (code !== 11) return 'the crawl is not complete; launch again once the cause is gone';
    return interruptionText([...this.#exits.values()]);
  }

  #look(): void {
    const now = monotonicMs();
    const reported = this.agents.map((agent) => ({
      alive: agent.exit === null && !agent.isSilent(now),
      left: agent.exit?.kind === 'left',
      status: agent.status,
    }));
    this.#view.show(this.#frames.next(this.#clusterAt(now), now, reported), now);
    this.#report(now);
    this.#showDashboard();
    if (reported.every(({ status }, k) => status !== null || this.agents[k]?.exit !== null)) {
      this.#options.onStarted();
    }
    this.#endSuspended();
    this.#endOverdue(now);
  }

  /** The agents of this launch. One that starts, or that has ended as it should, is left out. */
  #clusterAt(now: number): ClusterStatus {
    const away = this.agents.filter((agent) => agent.exit !== null || agent.isSilent(now));
    const agents = this.agents.flatMap((agent) => {
      return agent.status === null || away.includes(agent) ? [] : [agent.status];
    });
    const isMissed = ({ id }: AgentProcess) => !this.#isOver() && !this.#waiting.has(id);
    const unreachable = away.filter(isMissed).map(({ id }) => id);
    return { agents, ...withoutLeft({ agents, unreachable }) };
  }

  #report(now: number): void {
    const running = this.#running();
    const heard = running.filter((agent) => !agent.isSilent(now));
    const statuses = heard.flatMap(({ status }) => (status ? [status] : []));
    this.#http?.noteStatuses(
      statuses,
      running.map(({ id }) => id),
    );
  }

  #running(): readonly AgentProcess[] {
    return this.agents.filter(({ exit }) => exit === null);
  }

  #onSignal(): void {
    this.#signals++;
    if (this.#signals === 1) {
      this.#cancelRestarts();
      this.#view.say('stopping: waiting for open requests; a second signal stops at once');
      for (const agent of this.agents) agent.send({ type: 'stop' });
      return;
    }
    for (const agent of this.agents) agent.send({ type: 'stopNow' });
    const killAll = () => {
      for (const agent of this.agents) if (agent.exit === null) agent.kill();
    };
    setTimeout(killAll, atOnceMs).unref();
  }

  #onEnd(agent: AgentProcess): void {
    const { id, exit, isReported } = agent;
    if (exit === null) return;
    this.#exits.delete(id);
    this.#exits.set(id, exit);
    if (this.#isOver()) this.#cancelRestarts();
    const left = this.#running().length;
    const some = left === 1 ? '1 agent' : `${left} agents`;
    const rest = `${some} of this launch ${left === 1 ? 'continues' : 'continue'}`;
    // The cluster may have agents of other launches, which are not counted here.
    const next = `${left === 0 ? 'none of this launch is left' : rest}${this.#next(agent)}`;
    if (exit.kind === 'killed' && !this.#isOver()) {
      this.#view.warn(`${id} was killed (${exit.signal}); ${next}`);
    } else if (exit.kind === 'crashed') {
      const what = exit.outOfMemory ? 'was killed' : 'crashed';
      const remedy = exit.outOfMemory ? memoryRemedy : crashRemedy;
      this.#view.warn(`${id} ${what} (${exit.signal}): ${remedy}; ${next}`);
    } else if (exit.kind === 'failed') {
      const why = isReported ? '' : `: ${exit.reason}`;
      this.#view.warn(`${id} failed (${exit.code})${why}; ${next}`);
    } else if (exit.kind === 'unfinished') {
      this.#view.warn(isReported ? `${id} ended (11); ${next}` : `${id} ${exit.reason}`);
    } else if (exit.kind === 'left') {
      this.#view.say(`${id}: ${exit.reason}; ${next}`);
    }
    this.#endSuspended();
    this.#endIfDone();
  }

  /** When the agent is restarted, or how to start it again; '' if it has nothing left to do. */
  #next({ id, exit, startedAt, status }: AgentProcess): string {
    if (exit === null || this.#isOver() || exit.kind === 'left') return '';
    const { config, restart } = this.#options;
    const ran = status !== null ? 'now' : this.#restarts.has(id) ? 'before' : 'never';
    if (restart && mayRestart(exit, ran)) {
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
    const { config, ids, completedBy } = this.#options;
    // A directive that the agent accepted after the end may have reopened the crawl.
    if (completedBy && completionKind(config, ids) === 'changed') removeCompletion(config);
    const k = this.agents.findIndex((agent) => agent.id === id);
    this.agents[k] = this.#start(id);
  }

  #cancelRestarts(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#waiting.size > 0 || this.#running().length > 0) return;
    clearInterval(this.#timer);
    this.#view.end();
    this.#exit.resolve(verdictOf([...this.#exits.values()], this.#signals > 0));
  }

  /**
   * Whether the crawl is complete or was stopped. `ubiring stop` does not notify the launch, but
   * then an agent reports that it was interrupted.
   */
  #isOver(): boolean {
    const isEnd = (kind: EndKind | AgentExit['kind'] | null) =>
      kind === 'complete' || kind === 'interrupted';
    return (
      this.#signals > 0 ||
      [...this.#exits.values()].some(({ kind }) => isEnd(kind)) ||
      this.agents.some(({ reportedEnd }) => isEnd(reportedEnd))
    );
  }

  /** Kills agents that hang at their exit, so that the launch itself exits in bounded time. */
  #endOverdue(now: number): void {
    const waited = this.agents.map((agent) => {
      const { id, exit, reportedEnd } = agent;
      return { id, isAlive: exit === null, hasReportedEnd: reportedEnd !== null };
    });
    const ids = this.#overdue.at(now, waited, this.#isOver());
    for (const agent of this.agents.filter(({ id }) => ids.includes(id))) {
      const why = `should have ended ${endMsMax / 1000} s ago`;
      this.#view.warn(`${agent.id} (process ${agent.pid}) ${why}: killed; its state is kept`);
      agent.kill();
    }
  }

  /** Kills suspended agents when the crawl is over and all others have exited. */
  #endSuspended(): void {
    if (!this.#isOver()) return;
    const living = this.#running();
    if (living.length === 0 || !living.every((agent) => agent.isSuspended())) return;
    for (const agent of living) {
      this.#view.say(`${agent.id} is suspended and has nothing left to do: killed`);
      agent.kill();
    }
  }
}
