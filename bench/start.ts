// The cost of an agent's start: one agent crawls a web of one page, so nearly all its work is to
// start and to end. It measures the time from the launch to the first request and the processor
// time of the whole run: started by `launch`, which passes on a config that it has read, and
// manually; with the compiled code of earlier starts, as `ubiring` keeps it, and without; and,
// after `npm run build`, from the published JavaScript.
// node bench/start.ts [--runs 7] [--json]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { steadyMs } from '../test/chaos/harness-process.ts';
import { startWeb } from '../test/web/server.ts';
import { readProbe } from './crawl-figures.ts';
import { readConfig } from './launched.ts';
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
  /** The folder of the program in TypeScript or JavaScript. */
  readonly folder: string;
  readonly by: 'launch' | 'hand';
  /** Whether earlier compiled code may be used. */
  readonly cached: boolean;
}

const source = path.join(root, 'agent');
const built = path.join(root, 'dist/agent');
const kinds: readonly Kind[] = [
  { title: 'by launch, compiled before', folder: source, by: 'launch', cached: true },
  { title: 'by hand, compiled before', folder: source, by: 'hand', cached: true },
  { title: 'by hand, never compiled', folder: source, by: 'hand', cached: false },
  { title: 'by launch, JavaScript as published', folder: built, by: 'launch', cached: true },
  { title: 'by hand, JavaScript as published', folder: built, by: 'hand', cached: true },
];

interface Life {
  readonly firstRequestMs: number;
  readonly cpuMs: number;
  readonly rssMiB: number;
}

await command('start', { runs: 7 }, async ({ runs }): Promise<Report> => {
  const { directory, remove } = temporaryDirectory();
  const present = kinds.filter(({ folder }) => fs.existsSync(folder));
  try {
    // A warm-up, in which code is compiled and files are read for the first time.
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

/** One agent from its launch to its end. Throws if it does not end with 0. */
async function live(kind: Kind, directory: string): Promise<Life> {
  const web = await startWeb({ hosts: 1, pages: 1, port: 0 });
  try {
    const report = path.join(directory, 'probe.json');
    const config = path.join(directory, 'crawl.json');
    const dataDir = path.join(directory, 'data');
    fs.rmSync(dataDir, { recursive: true, force: true });
    fs.writeFileSync(config, JSON.stringify(configOf(web.seed, dataDir)));
    const { line, env, input } = await programOf(kind, config);
    const compiled = path.join(directory, 'compiled');
    const cache = kind.cached
      ? { NODE_COMPILE_CACHE: compiled }
      : { NODE_DISABLE_COMPILE_CACHE: '1' };
    const launchedMs = steadyMs();
    const child = spawn(process.execPath, ['--import', probe, ...line], {
      cwd: root,
      env: { ...process.env, ...env, ...cache, UBIRING_PROBE: report },
      stdio: ['pipe', 'ignore', 'pipe'],
      timeout: lifeMsMax,
    });
    killAtExit(child);
    child.stdin.on('error', () => {}).end(input);
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

async function programOf({ folder, by }: Kind, config: string) {
  const extension = folder === built ? 'js' : 'ts';
  const main = path.join(folder, `main.${extension}`);
  if (by === 'hand') return { line: [main, 'agent', config, '--id', 'a1'], env: {}, input: '' };
  const { agentProgram }: typeof import('../agent/cli/agent/agent-environment.ts') = await import(
    path.join(folder, `cli/agent/agent-environment.${extension}`)
  );
  return agentProgram({ config: readConfig(config), id: 'a1' });
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
