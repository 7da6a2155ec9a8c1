// The life of one agent in this process, once its config is known: its log, its state and its sockets
// are opened, it crawls, and the process's exit code is found. An agent by hand comes here from
// `agent-command.ts`, one that a launch has started from `launched-agent.ts`; the latter reports its
// status and its end over the channel to the launch.

import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import type { AgentEnd } from '../../composition/agent-end.ts';
import { wallMs } from '../../runtime/clock.ts';
import { codeOfError, type ExitCode, messageOf } from '../common/exit-code.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { say } from '../common/output.ts';
import { recordCompletion, writeRefreshing } from '../state-files/completion-file.ts';
import { type AgentLog, openAgentLog } from './agent-log.ts';
import { type EndKind, type FromAgent, statusEveryMs } from './launch-messages.ts';
import type { Orders } from './process-orders.ts';

/** The last word is not waited for any longer: a launch that is suspended takes none. */
const tellMsMax = 2000;

/** Which agent of which crawl. */
export interface AgentStart {
  readonly config: ResolvedConfig;
  readonly id: string;
  /** In which known pages are asked for again, a number above the last; none is begun without it. */
  readonly refresh?: number | undefined;
  /** Agents that it must have met before it crawls, because a state is restored from their copies. */
  readonly awaits?: readonly string[];
}

/** Runs the agent to its end; what a launch will tell is not said here. */
export async function runAgent(
  start: AgentStart,
  { orders, launched }: { readonly orders: Orders; readonly launched: boolean },
): Promise<ExitCode> {
  const { config, id, refresh } = start;
  keepYoung();
  // Loaded late, since it takes a while: orders are heard by now.
  const { isComplete } = await import('../../composition/agent-end.ts');
  if (isComplete(config) && refresh !== undefined) {
    // That end is past: an agent that stalls must not take it for its own. A launch has said so.
    writeRefreshing(config, refresh, wallMs());
  } else if (isComplete(config)) {
    const reason =
      'the crawl is complete already; launch --refresh asks what has changed, --fresh begins anew';
    if (!launched) say(`${id}: ${reason}`);
    return finish(0, reason, 'complete');
  }
  const opened = openAgentLog(config.agent.dataDir, id);
  if (!opened.ok) {
    if (!launched) say(opened.message);
    return finish(opened.code, opened.message, 'failed');
  }
  logUncaught(opened, launched);
  orders.onReopen(() => opened.reopen());
  if (!launched) {
    // An order that is taken back in the files holds the states for a moment.
    const { startingEnded } = await import('../common/launch-lock.ts');
    await startingEnded(config.agent.dataDir);
  }
  const end = await run(start, opened, orders);
  // Without a terminal the log is on stderr, and has said it.
  const isTold = end.code !== 0 && end.code !== 11 && !process.stderr.isTTY;
  if (!launched && !isTold) say(`${id}: ${end.reason}`);
  await opened.flush();
  return finish(end.code, end.reason, kindOf(end), true);
}

/**
 * Keeps V8 from allocating objects directly in its old generation where it expects them to live
 * long. The objects of a request do not, and there they keep other objects alive until the next full
 * collection: pauses of 0.69 s in 20,000 pages instead of 0.56 s.
 */
function keepYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Given for this thread; it would win over the limits that the others are started with.
  setFlagsFromString('--max-semi-space-size=0');
}

async function run(start: AgentStart, agentLog: AgentLog, orders: Orders): Promise<AgentEnd> {
  const { config, id } = start;
  const { log } = agentLog;
  const { startAgent } = await import('../../agent.ts');
  // The record is written while the state is locked. A command that takes a block back needs
  // the lock, so it finds the record and removes it.
  const beforeUnlock = (end: AgentEnd) => noteCompletion(config, end, agentLog);
  const started = await startAgent({ ...start, log, beforeUnlock });
  if (!started.ok) {
    log.fatal({ code: started.code }, started.message);
    return { code: started.code, reason: started.message };
  }
  const { agent, notice } = started;
  // Without a terminal the log is on stderr, and has said it.
  if (notice && process.stderr.isTTY) say(`${id}: ${notice}`);
  orders.obey(agent);
  // A launch that is suspended takes no reports, and they must not gather here.
  let isTold = true;
  const report = () => {
    if (!isTold) return;
    isTold = false;
    void tell({ type: 'status', status: agent.status() }).then(() => {
      isTold = true;
    });
  };
  const reporting = process.channel ? setInterval(report, statusEveryMs) : undefined;
  const end = await agent.ended;
  clearInterval(reporting);
  return end;
}

/** Each agent does so: it may have been started by hand, or its launch may have been killed. */
async function noteCompletion(
  config: ResolvedConfig,
  end: AgentEnd,
  { log }: AgentLog,
): Promise<void> {
  const { completion } = end;
  if (completion === undefined || kindOf(end) !== 'complete') return;
  try {
    const open = recordCompletion(config, { at: wallMs(), ...completion });
    if (open.length === 0) return;
    // Loaded where it is needed: with it comes the library for schemas.
    const { openWorkText } = await import('../state-files/left-out-text.ts');
    log.warn(openWorkText(config, open));
  } catch (error) {
    log.error({ err: error }, 'complete.json cannot be written: the next start finds no end');
  }
}

/** A broken invariant ends the process; SQLite has the state of the last commit. */
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

function kindOf({ code, reason }: AgentEnd): EndKind {
  if (code === 11) return 'interrupted';
  if (code !== 0) return 'failed';
  return reason.startsWith('left') ? 'left' : 'complete';
}

/** Tells the launcher, if there is one, how it ended. */
export async function finish(
  code: ExitCode,
  reason: string,
  course: EndKind,
  logged = false,
): Promise<ExitCode> {
  const told = tell({ type: 'ended', code, reason, course, logged });
  await Promise.race([told, setTimeout(tellMsMax)]);
  return code;
}

/** Resolves when the message is on its way, or there is nobody to take it. */
function tell(message: FromAgent): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) return resolve();
    process.send(message, undefined, undefined, () => resolve());
  });
}
