// Runs one agent in this process once its config is known: opens its log, its state and its
// sockets, crawls, and returns the exit code. An agent that a launch has started reports its status
// and its end to the launch.

import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { parseListenAddress } from '../../../config/values/listen-address.ts';
import type { AgentOptions, RunningAgent } from '../../agent.ts';
import type { AgentEnd } from '../../composition/agent-end.ts';
import { wallMs } from '../../runtime/clock.ts';
import { codeOfError, type ExitCode, messageOf } from '../common/exit-code.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { say, version } from '../common/output.ts';
import type { HttpProcess } from '../http/http-process.ts';
import { recordCompletion, writeRefreshing } from '../state-files/completion-file.ts';
import { ordersOf } from '../state-files/state-totals.ts';
import { type AgentLog, openAgentLog } from './agent-log.ts';
import { type EndKind, type FromAgent, statusEveryMs } from './launch-messages.ts';
import type { ProcessSignals } from './process-signals.ts';

/**
 * How long an exiting agent waits, in ms, until `launch` reads its last message: it may be
 * suspended.
 */
const sendMsMax = 2000;

/** The agent to run, and how. */
export interface AgentStart {
  readonly config: ResolvedConfig;
  readonly id: string;
  /** Begins this round, in which known pages are requested again; a number above the last round. */
  readonly refresh?: number | undefined;
  /** Agents that it must meet before it crawls, because a state is restored from their copies. */
  readonly awaits?: readonly string[];
  /** The members at the end of the crawl: the agent tells it to agents that were away. */
  readonly completedBy?: readonly string[] | undefined;
}

/** Runs the agent until it ends. A launched agent prints nothing: its launch reports the end. */
export async function runAgent(
  start: AgentStart,
  { signals, launched }: { readonly signals: ProcessSignals; readonly launched: boolean },
): Promise<ExitCode> {
  const { config, id, refresh, completedBy } = start;
  keepYoung();
  // Imported late, because it takes long: signals are handled by now.
  const { isComplete } = await import('../../composition/agent-end.ts');
  if (isComplete(config) && refresh !== undefined) {
    // The record is of an earlier round. It is replaced, because an agent that rejoins after
    // a stall would take it for the end of this round. `launch` has already done so for its agents.
    writeRefreshing(config, refresh, wallMs());
  } else if (isComplete(config) && !completedBy) {
    const how =
      config.added === undefined
        ? 'launch --refresh requests its pages again, --fresh starts over'
        : `--refresh requests its pages again; to start over, move ${config.agent.dataDir} away`;
    const reason = `the crawl is complete already; ${how}`;
    if (!launched) say(`${id}: ${reason}`);
    return finish(0, reason, 'complete');
  }
  const opened = openAgentLog(config.agent.dataDir, id);
  if (!opened.ok) {
    if (!launched) say(opened.message);
    return finish(opened.code, opened.message, 'failed');
  }
  logUncaught(opened, launched);
  signals.onReopen(() => opened.reopen());
  if (!launched) {
    // A command that revokes a directive in the state files locks them for a moment.
    const { startingEnded } = await import('../common/launch-lock.ts');
    await startingEnded(config.agent.dataDir);
  }
  const isShown = !launched && process.stderr.isTTY;
  // Unless stderr is a terminal, the log is written to stderr, too, and has the message.
  const tell: AgentOptions['tell'] = (what, message) => {
    opened.log[what === 'warn' ? 'warn' : 'info'](message);
    if (isShown) say(`${id}: ${message}`);
  };
  const end = await run({ ...start, tell, ...(await neighboursOf(config)) }, opened.log, signals);
  // Unless stderr is a terminal, the log is written to stderr, too, and has the reason.
  const isLogged = end.code !== 0 && end.code !== 11 && !process.stderr.isTTY;
  if (!launched && !isLogged) say(`${id}: ${end.reason}`);
  await opened.flush();
  return finish(end.code, end.reason, kindOf(end), true);
}

/**
 * Keeps V8 from allocating objects that it expects to live long directly in its old generation. The
 * objects of a request do not live long, and in the old generation they keep other objects alive
 * until the next full collection: pauses of 0.69 s in 20,000 pages instead of 0.56 s.
 */
function keepYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  // The flag of the command line is for the main thread only; in worker threads it would override
  // the limits that they are started with.
  setFlagsFromString('--max-semi-space-size=0');
}

/** With contacts, an agent looks for those of its data directory, too: they are one cluster. */
async function neighboursOf(config: ResolvedConfig): Promise<Pick<AgentOptions, 'local'>> {
  if (config.cluster.contacts.length === 0) return {};
  const { strangersOf } = await import('../common/strangers.ts');
  return { local: () => strangersOf(config) };
}

async function run(
  start: AgentStart & Pick<AgentOptions, 'tell' | 'local'>,
  log: AgentLog['log'],
  signals: ProcessSignals,
): Promise<AgentEnd> {
  const { id } = start;
  const http = await startedHttp(start.config, log);
  if (typeof http === 'string') {
    log.fatal({ code: 4 }, http);
    return { code: 4, reason: http };
  }
  http?.url.then(
    (url) => log.info({ url }, 'serves the dashboard'),
    () => {},
  );
  const { startAgent } = await import('../../agent.ts');
  // The completion record is written while the state is locked. A command that revokes a block
  // needs the lock, so it finds the record and removes it.
  const beforeUnlock = (end: AgentEnd) => noteCompletion(start, end, log);
  const serves = () => (http?.served ? { dashboard: http.served } : {});
  const started = await startAgent({ ...start, log, beforeUnlock, serves });
  if (!started.ok) {
    log.fatal({ code: started.code }, started.message);
    return { code: started.code, reason: started.message };
  }
  const { agent, notice } = started;
  // Unless stderr is a terminal, the log is written to stderr, too, and has the notice.
  if (notice && process.stderr.isTTY) say(`${id}: ${notice}`);
  signals.obey(agent);
  const serving = http && serve(http, agent);
  // A suspended launch reads no reports, so a report is sent only when the last one has been sent.
  let isSent = true;
  const report = () => {
    if (!isSent) return;
    isSent = false;
    void send({ type: 'status', status: agent.status() }).then(() => {
      isSent = true;
    });
  };
  const reporting = process.channel ? setInterval(report, statusEveryMs) : undefined;
  const end = await agent.ended;
  clearInterval(reporting);
  clearInterval(serving ?? undefined);
  http?.close();
  return end;
}

/** Null if the config does not ask for it, or why it cannot start. */
async function startedHttp(
  config: ResolvedConfig,
  log: AgentLog['log'],
): Promise<HttpProcess | null | string> {
  const { listen } = config.monitor;
  const address = listen === null ? null : parseListenAddress(listen);
  if (address === null) return null;
  const { startHttp } = await import('../http/http-process.ts');
  const onError = (message: string) => log.error(message);
  return startHttp({ config, listen: address, env: process.env, version: version(), onError });
}

/** @returns the timer that reports the status of the agent */
function serve(http: HttpProcess, agent: RunningAgent): NodeJS.Timeout {
  const report = () => {
    const status = agent.status();
    http.noteStatuses([status], [status.id]);
  };
  report();
  return setInterval(report, statusEveryMs);
}

/**
 * Every agent writes the record: agents may be started by hand, and `launch` may be killed.
 *
 * @returns the end of the agent: the crawl is not complete if other states have work
 */
async function noteCompletion(
  { config, id }: AgentStart,
  end: AgentEnd,
  log: AgentLog['log'],
): Promise<AgentEnd> {
  const { completion } = end;
  if (completion === undefined) return end;
  try {
    const orders = ordersOf(config.agent.dataDir, id);
    const known = orders === null ? {} : { orders };
    const open = recordCompletion(config, { at: wallMs(), ...completion, ...known });
    if (open.length === 0) return end;
    // Imported late, because it imports the schema library.
    const { unfinishedText } = await import('../state-files/left-out-text.ts');
    return { code: 11, reason: unfinishedText(config, open, id), unfinished: true };
  } catch (error) {
    log.error(
      { err: error },
      'complete.json cannot be written: the next start will not find the crawl complete',
    );
    return end;
  }
}

/** Logs an unexpected error and ends the process. SQLite keeps the state of the last commit. */
function logUncaught({ log, flush }: AgentLog, launched: boolean): void {
  const end = async (error: unknown) => {
    const code = codeOfError(error);
    log.fatal({ err: error }, 'unexpected error');
    if (!launched && process.stderr.isTTY) say(`unexpected error: ${messageOf(error)}`);
    await flush();
    process.exit(await finish(code, messageOf(error), 'failed', true));
  };
  process.once('uncaughtException', end);
  process.once('unhandledRejection', end);
}

function kindOf({ code, completion, unfinished }: AgentEnd): EndKind {
  if (unfinished) return 'unfinished';
  if (code === 11) return 'interrupted';
  if (code !== 0) return 'failed';
  return completion ? 'complete' : 'left';
}

/** Reports the end to the launch, if there is one. */
export async function finish(
  code: ExitCode,
  reason: string,
  endKind: EndKind,
  logged = false,
): Promise<ExitCode> {
  const sent = send({ type: 'ended', code, reason, endKind, logged });
  await Promise.race([sent, setTimeout(sendMsMax)]);
  return code;
}

/** Resolves when the message is sent or has failed; at once if there is no launch. */
function send(message: FromAgent): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) return resolve();
    process.send(message, undefined, undefined, () => resolve());
  });
}
