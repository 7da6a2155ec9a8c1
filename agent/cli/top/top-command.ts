// `ubiring top`: shows the running cluster once a second, in place on a terminal, otherwise as lines
// or as JSON. It ends when the operator quits, after `--count` frames, or when the crawl is complete.

import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs, wallMs } from '../../runtime/clock.ts';
import type { ClusterAnswer } from '../common/ask.ts';
import { type Caller, calledBy, caller, type InputStream } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, loadResolved, type ResolvedConfig } from '../common/load-config.ts';
import { isScreen, print, printable } from '../common/output.ts';
import { readCompletion } from '../state-files/completion-file.ts';
import { progressLine } from '../status/progress-line.ts';
import { withoutAnswer } from '../status/status-command.ts';
import { LiveView } from './live-view.ts';
import { Screen } from './screen.ts';
import type { TopFrame } from './top-frame.ts';
import { TopSource } from './top-source.ts';
import { TOP } from './top-view.ts';

interface TopFlags extends CommonFlags {
  readonly json?: boolean;
  /** Number of frames; absent: no limit. */
  readonly count?: number;
}

/** Milliseconds from one frame to the next. */
const FRAME_MS = 1000;

export async function top(file: string, flags: TopFlags): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const watch = new TopSource(config);
  const first = await watch.ask();
  if (!first.ok) return withoutAnswer(config, first.failures, flags);
  const who = caller();
  const last = isLive(who, flags)
    ? await runLive(config, who, watch, first, flags)
    : await run(watch, first, config, flags, (frame) => print(textOf(frame, flags)));
  return last === null ? 0 : withoutAnswer(config, last, flags);
}

/** Whether the caller is a person at a terminal. */
function isLive(who: Caller, { json }: TopFlags): who is Caller & { readonly stdin: InputStream } {
  return !json && who.stdin?.isTTY === true && isScreen(who.stdout);
}

async function runLive(
  config: ResolvedConfig,
  who: Caller & { readonly stdin: InputStream },
  watch: TopSource,
  first: ClusterAnswer,
  flags: TopFlags,
): Promise<readonly string[] | null> {
  const end = new AbortController();
  const { promise: quit, resolve } = Promise.withResolvers<null>();
  const onQuit = () => resolve(null);
  const view = new LiveView({ config, who, caption: () => TOP, onQuit });
  const screen = new Screen(who.stdin, who.stdout, {
    onKey: (key) => view.onKey(key),
    onResize: () => view.draw(),
    onEnd: onQuit,
  });
  view.drawOn(screen);
  try {
    const show = async (frame: TopFrame) => view.show(frame);
    const frames = calledBy(view.who, () => run(watch, first, config, flags, show, end.signal));
    return await Promise.race([frames, quit]);
  } finally {
    end.abort();
    screen.close();
  }
}

/**
 * Shows one frame after the other.
 *
 * @returns why no agent answers, if the crawl is complete; null: all frames were shown
 */
async function run(
  watch: TopSource,
  first: ClusterAnswer,
  config: ResolvedConfig,
  { count }: TopFlags,
  show: (frame: TopFrame) => Promise<void>,
  end?: AbortSignal,
): Promise<readonly string[] | null> {
  let answer = first;
  for (let shown = 1, askedMs = monotonicMs(); ; shown++) {
    await show(watch.frameOf(answer, monotonicMs()));
    if (shown === count) return null;
    await sleep(Math.max(0, askedMs + FRAME_MS - monotonicMs()));
    if (end?.aborted) return null;
    askedMs = monotonicMs();
    answer = await watch.ask();
    if (!answer.ok && readCompletion(config).kind === 'complete') return answer.failures;
  }
}

function textOf(frame: TopFrame, { json }: TopFlags): string {
  return `${json ? jsonOf(frame) : lineOf(frame)}\n`;
}

function jsonOf({ cluster, progress, problems, failures }: TopFrame): string {
  const sums = { totals: progress, problems, failures: Object.fromEntries(failures) };
  return JSON.stringify({ at: wallMs(), ...cluster, ...sums });
}

function lineOf({ progress, problems }: TopFrame): string {
  const texts = problems.map(({ text }) => text);
  return printable(progressLine(progress, texts));
}
