// Preloaded into each agent of a benchmark (`node --import`). It writes the resources of the
// process when it ends. It measures from inside, because a process that has ended cannot be
// queried, and sums over the whole process include its threads. `UBIRING_PROBE` names the output
// file. `UBIRING_PROBE_FOLLOW=agent` separates the start from the crawl, counts messages and
// separates the threads (`probe-threads.ts`), `pages` also follows each page (`probe-pages.ts`),
// `counts` counts what does not depend on the clock (`probe-counts.ts`), and `profile` samples what
// the main thread does (`main-thread-profile.ts`).

import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import type { SentByType } from '../agent/messaging/traffic.ts';
import type { Samples } from './main-thread-profile.ts';
import type { Counts } from './probe-counts.ts';
import type { PageTimes } from './probe-pages.ts';
import { nameThisThread, type ThreadMs, ThreadTimes } from './probe-threads.ts';

export interface ProbeReport {
  /** User and system time of all threads, in milliseconds. */
  readonly cpuMs: number;
  /** The part of it before the agent began to take part; null if it never did. */
  readonly startCpuMs: number | null;
  readonly rssBytesMax: number;
  /** 99th percentile of the event-loop delay since then, in milliseconds. */
  readonly loopLateMs: number;
  readonly sent: SentByType;
  /** Only if pages were followed. */
  readonly pages: PageTimes | null;
  /** Only if requested; from the moment when the agent began to take part. */
  readonly counts: Counts | null;
  /** Milliseconds of processor time by kind of thread, since then; empty without /proc. */
  readonly threads: ThreadMs;
  /** Only if requested: samples of the main thread since then. */
  readonly profile: Samples | null;
}

const file = process.env.UBIRING_PROBE;
/** As the agent itself measures it. */
const loopStepMs = 10;

/** The other threads load this as well, but they count with their process. */
if (!isMainThread) nameThisThread();
else if (file !== undefined) await observe(file);

async function observe(path: string): Promise<void> {
  const seen: Pick<ProbeReport, 'pages'> & { startCpuMs: number | null; sent: SentByType } = {
    ...{ startCpuMs: null, sent: {}, pages: null },
  };
  const follow = process.env.UBIRING_PROBE_FOLLOW;
  const loop = monitorEventLoopDelay({ resolution: loopStepMs });
  loop.enable();
  const threads = new ThreadTimes();
  const counting = follow === 'counts' ? await startCounting() : null;
  const profiling = follow === 'profile' ? await import('./main-thread-profile.ts') : null;
  let profile: (() => Samples) | null = null;
  if (follow !== undefined) {
    const { followAgent, followPages } = await import('./probe-pages.ts');
    if (follow === 'pages') Object.assign(seen, { pages: followPages() });
    followAgent({
      started: () => {
        seen.startCpuMs = cpuMs();
        loop.reset();
        counting?.started();
        threads.begin();
        profile = profiling?.startProfile() ?? null;
      },
      sent: (byType) => {
        seen.sent = byType;
      },
    });
  }
  process.on('exit', () => {
    const rssBytesMax = process.resourceUsage().maxRSS * 1024;
    const counts = counting?.sinceStart() ?? null;
    // The histogram contains the whole time from one step to the next.
    const loopLateMs = Math.max(0, loop.percentile(99) / 1e6 - loopStepMs);
    const report: ProbeReport = {
      ...{ cpuMs: cpuMs(), rssBytesMax, loopLateMs, ...seen, counts },
      ...{ threads: threads.sinceBegin(), profile: profile?.() ?? null },
    };
    writeFileSync(path, JSON.stringify(report));
  });
}

async function startCounting() {
  const { countAll, difference } = await import('./probe-counts.ts');
  const counts = countAll();
  let before = counts();
  return {
    started: () => {
      before = counts();
    },
    sinceStart: () => difference(counts(), before),
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
