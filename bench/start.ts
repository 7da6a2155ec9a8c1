// What the start of an agent costs: one agent crawls a web of one page, so nearly all that its
// process does is to start and to end. From the launch to its first request, and the processor time
// of its whole life: with the compiled code of earlier starts at hand, as `ubiring` keeps it; with
// none yet; and, where `npm run build` was run, from the JavaScript that is published.
//   node bench/start.ts [--runs 7] [--json]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { steadyMs } from '../test/chaos/harness-process.ts';
import { startWeb } from '../test/web/server.ts';
import { readProbe } from './cluster-run.ts';
import { killAtExit, temporaryDirectory } from './leftovers.ts';
import { loadNow } from './machine.ts';
import { command, progress, type Report } from './report.ts';
import { spread, spreadText } from './sample.ts';

const root = path.resolve(import.meta.dirname, '..');
const probe = path.join(import.meta.dirname, 'probe.ts');
/** A start and an end take about a second. */
const lifeMsMax = 30_000;

interface Kind {
  readonly title: string;
  readonly program: string;
  /** What node is to use of code compiled before. */
  readonly env: (directory: string) => Readonly<Record<string, string>>;
}

const source = path.join(root, 'agent/main.ts');
const built = path.join(root, 'dist/agent/main.js');
const shared = (directory: string) => ({ NODE_COMPILE_CACHE: path.join(directory, 'compiled') });
const kinds: readonly Kind[] = [
  { title: 'TypeScript, compiled before', program: source, env: shared },
  {
    title: 'TypeScript, never compiled',
    program: source,
    env: () => ({ NODE_DISABLE_COMPILE_CACHE: '1' }),
  },
  { title: 'JavaScript (dist), compiled before', program: built, env: shared },
];

interface Life {
  readonly firstRequestMs: number;
  readonly cpuMs: number;
  readonly rssMiB: number;
}

await command('start', { runs: 7 }, async ({ runs }): Promise<Report> => {
  const { directory, remove } = temporaryDirectory();
  const present = kinds.filter(({ program }) => fs.existsSync(program));
  try {
    // Once for nothing: code is compiled and files are read for the first time.
    for (const kind of present) await live(kind, directory);
    const lives = new Map<Kind, Life[]>(present.map((kind) => [kind, []]));
    for (let run = 1; run <= runs; run++) {
      for (const [kind, list] of lives) list.push(await live(kind, directory));
      progress(`run ${run} of ${runs}, load ${loadNow()}`);
    }
    const figures = [...lives].map(([{ title }, list]) => ({
      title,
      firstRequestMs: spread(list.map(({ firstRequestMs }) => firstRequestMs)),
      cpuMs: spread(list.map(({ cpuMs }) => cpuMs)),
      rssMiB: spread(list.map(({ rssMiB }) => rssMiB)),
    }));
    const rows = figures.map(({ title, firstRequestMs, cpuMs, rssMiB }) => [
      title,
      ...[firstRequestMs, cpuMs, rssMiB].map((of) => spreadText(of, 0)),
    ]);
    const columns = ['', 'first request (ms)', 'CPU of its life (ms)', 'memory (MiB)'];
    const title = `One agent, one page, ${runs} times each, median (least-most):`;
    return { tables: [{ title, columns, rows }], remarks: [], figures };
  } finally {
    remove();
  }
});

/** One agent from its launch to its end. Throws where it does not end with 0. */
async function live({ program, env }: Kind, directory: string): Promise<Life> {
  const web = await startWeb({ hosts: 1, pages: 1, port: 0 });
  try {
    const report = path.join(directory, 'probe.json');
    const config = path.join(directory, 'crawl.json');
    const dataDir = path.join(directory, 'data');
    fs.rmSync(dataDir, { recursive: true, force: true });
    fs.writeFileSync(config, JSON.stringify(configOf(web.seed, dataDir)));
    const launchedMs = steadyMs();
    const line = ['--import', probe, program, 'agent', config, '--id', 'a1'];
    const child = spawn(process.execPath, line, {
      cwd: root,
      env: { ...process.env, ...env(directory), UBIRING_PROBE: report },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: lifeMsMax,
    });
    killAtExit(child);
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`the agent ended with ${code}: ${said}`);
    const first = Math.min(...web.requests().map(({ startMs }) => startMs));
    const { cpuMs, rssBytesMax } = readProbe(report);
    return { firstRequestMs: first - launchedMs, cpuMs, rssMiB: rssBytesMax / 2 ** 20 };
  } finally {
    await web.stop();
  }
}

function configOf(seed: string, dataDir: string) {
  return {
    name: 'start',
    seeds: [seed],
    politeness: { hostDelayMs: 10 },
    http: { userAgent: 'bench (+https://example.org/)', allowPrivateAddresses: true },
    cluster: { agents: [{ id: 'a1', listen: 'tcp://127.0.0.1:11099' }] },
    agent: { dataDir },
  };
}
