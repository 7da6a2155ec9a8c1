// Takes the pictures of the dashboard in docs/ from a real crawl, while the others take over the hosts of
// a dead agent: `node test/browser/screenshot.ts`.

import { spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { Scratch, until, untilJoined } from '../integration/cli-process.ts';
import { startWeb } from '../web/server.ts';

const MAIN = path.resolve(import.meta.dirname, '../../agent/main.ts');
const FOLDER = path.resolve(import.meta.dirname, '../../docs');
/** So long, so that the charts have a history. */
const WATCHED_MS = 60_000;
/** After the takeover, so that the rates of the others have changed. */
const AFTER_MS = 9000;

const web = await startWeb({ hosts: 60, pages: 200, port: 0, net: 124 });
const scratch = new Scratch();
try {
  const more = { name: 'docs-crawl', seeds: [web.seed], politeness: { hostDelayMs: 700 } };
  const failureDetector = { heartbeatMs: 500, suspectAfterMs: 5000 };
  const config = await scratch.config(4, more, { failureDetector });
  // In its directory, so that the pictures show a short path.
  const launch = spawn(process.execPath, [MAIN, 'launch', path.basename(config)], {
    ...{ cwd: scratch.directory, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  let said = '';
  launch.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until('the dashboard is served', () => /dashboard: (\S+)/.test(said));
  const url = /dashboard: (\S+)/.exec(said)![1]!;
  await untilJoined(config, 'a1', 'a2', 'a3', 'a4');
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const viewport = { width: 1360, height: 1085 };
  const page = await browser.newPage({ viewport, colorScheme: 'light' });
  await page.goto(url);
  await pause(WATCHED_MS);
  process.kill(scratch.pid('a3')!, 'SIGKILL');
  await page.getByText(/of a3 passed to/).waitFor({ timeout: 60_000 });
  await pause(AFTER_MS);
  for (const [colorScheme, name] of [
    ['light', 'dashboard.png'],
    ['dark', 'dashboard-dark.png'],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await pause(1500);
    await page.screenshot({ path: path.join(FOLDER, name) });
  }
  await browser.close();
} finally {
  scratch.clean();
  await web.stop();
}
process.exit(0);
