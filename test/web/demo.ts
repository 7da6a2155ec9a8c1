// The program of `npm start`: it serves a synthetic web, lets the demo cluster crawl it to the end,
// judges the crawl by the server's log and suggests next steps. The crawl is the same command that
// a user types. The only import from the product is the config reader.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../../config/file/load.ts';
import { holds, type Judgement, judge } from './judge.ts';
import { rowsOf, tableOf, violationsOf } from './judgement-report.ts';
import { type RunningWeb, startWeb } from './server.ts';

const root = resolve(import.meta.dirname, '../..');
const configPath = 'config/demo.yaml';
/** Hosts and mean pages of the demo's web: some 1,200 URLs, a few seconds for four agents. */
const size = { hosts: 40, pages: 30, seed: 1 };
/** Limit for the demo. After it the cluster is told to stop. */
const limitMs = 90_000;
/** Time for the cluster to stop. */
const stopMs = 10_000;

async function main(): Promise<number> {
  const loaded = loadConfig(resolve(root, configPath), { cwd: root });
  if (!loaded.ok) {
    process.stderr.write(`${configPath} is not valid: npm run -s ubiring -- config check\n`);
    return 4;
  }
  const { seeds, politeness, agent } = loaded.config;
  const seed = new URL(seeds[0]!);
  const port = Number(seed.port || 80);
  const net = Number(seed.hostname.split('.')[1]);
  let running: RunningWeb;
  try {
    running = await startWeb({ ...size, port, net });
  } catch (error) {
    process.stderr.write(`the demo's web cannot be served: ${(error as Error).message}\n`);
    return 5;
  }
  const { hosts } = running.web.options;
  const web = `A synthetic web of ${hosts} hosts is served at ${running.seed}`;
  process.stdout.write(`${web} for ${limitMs / 1000} s at most\n`);
  const startedMs = performance.now();
  try {
    const exitCode = await crawl();
    const seconds = (performance.now() - startedMs) / 1_000;
    const judgement = judge(running.web, running.requests(), { delayMs: politeness.hostDelayMs });
    // An agent that ends by itself removes its PID file. Pages that a dead agent had open or not
    // settled are fetched again, which is no fault.
    const killed = globSync('*/agent.pid', { cwd: agent.dataDir }).length > 0;
    const againMax = killed ? Number.POSITIVE_INFINITY : 0;
    const isOver = exitCode === 0;
    process.stdout.write(report(judgement, politeness.hostDelayMs, seconds, againMax, isOver));
    if (exitCode !== 0) return exitCode;
    return holds(judgement, againMax) ? 0 : 1;
  } finally {
    await running.stop();
  }
}

/** Runs the cluster to its end. Returns its exit code, or 1 if a signal ended it. */
async function crawl(): Promise<number> {
  const line = ['agent/main.ts', 'launch', configPath, '--fresh'];
  const child = spawn(process.execPath, line, { cwd: root, stdio: 'inherit' });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  // From a terminal SIGINT reaches the child directly. This process must outlive it.
  const ignore = () => {};
  const forward = () => child.kill('SIGTERM');
  process.on('SIGINT', ignore).on('SIGTERM', forward);
  const limit = setTimeout(() => endLate(child), limitMs);
  try {
    const [code] = await ended;
    return code ?? 1;
  } finally {
    clearTimeout(limit);
    process.off('SIGINT', ignore).off('SIGTERM', forward);
  }
}

function endLate(child: ChildProcess): void {
  process.stderr.write(`the crawl has not ended in ${limitMs / 1_000} s: stopping it\n`);
  child.kill('SIGTERM');
  const last = setTimeout(() => child.kill('SIGKILL'), stopMs);
  child.once('exit', () => clearTimeout(last));
}

/**
 * @param againMax - URLs that may have been fetched again because their agents were killed
 * @param isOver - the crawl has ended; else pages may be missing
 */
function report(
  judgement: Judgement,
  delayMs: number,
  seconds: number,
  againMax: number,
  isOver: boolean,
): string {
  const table = tableOf(rowsOf(judgement, delayMs, seconds));
  const none = { count: 0, samples: [] };
  const judged = isOver ? judgement : { ...judgement, missing: none };
  const well = holds(judged, againMax);
  const good = isOver ? goodVerdict(judged.overlap.count) : `${UNFINISHED}\n`;
  const verdict = well ? good : `The web server logged violations:\n${violationsOf(judged)}`;
  const more = well && isOver ? nextSteps : '';
  return `\nAs the web server saw it:\n\n${table}\n\n${verdict}\n${more}`;
}

const UNFINISHED = 'The crawl has not ended. The web server logged no violation until then.';

function goodVerdict(again: number): string {
  const word = "politely, according to the web server's log.";
  if (again === 0) return `Every page once, and ${word}`;
  return `Every page, and ${word}
Pages fetched again were open at a dead agent, or not yet settled and copied.`;
}

const ubiring = 'npm run -s ubiring --';
const nextSteps = `
Query the results with SQL:
  ${ubiring} query ${configPath} "SELECT status, count(*) FROM pages GROUP BY status"
  ${ubiring} query ${configPath} "SELECT agent, count(*) FROM hosts GROUP BY agent"
  ${ubiring} query ${configPath} "SELECT reason, count(*) FROM skipped GROUP BY reason"

Break it: run npm start again, and while it crawls, in a second terminal:
  ${ubiring} status ${configPath}
  ${ubiring} kill ${configPath} a2
`;

process.exitCode = await main();
