// Takes the picture of the dashboard in docs/ from a real crawl: `node test/browser/screenshot.ts`.

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { Scratch, start, until, untilJoined } from '../integration/cli-process.ts';
import { startWeb } from '../web/server.ts';

const PICTURE = path.resolve(import.meta.dirname, '../../docs/dashboard.png');
/** So long, so that the charts have a history. */
const WATCHED_MS = 60_000;

const web = await startWeb({ hosts: 60, pages: 200, port: 0, net: 124 });
const scratch = new Scratch();
try {
  const more = { name: 'docs-crawl', seeds: [web.seed], politeness: { hostDelayMs: 700 } };
  const failureDetector = { heartbeatMs: 500, suspectAfterMs: 5000 };
  const config = await scratch.config(4, more, { failureDetector });
  const launch = start(['launch', config], {}, 300_000);
  await until('the dashboard is served', () => /dashboard: (\S+)/.test(launch.stderr()));
  const url = /dashboard: (\S+)/.exec(launch.stderr())![1]!;
  await untilJoined(config, 'a1', 'a2', 'a3', 'a4');
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const viewport = { width: 1360, height: 1120 };
  const page = await browser.newPage({ viewport, colorScheme: 'dark' });
  await page.goto(url);
  await pause(WATCHED_MS);
  await page.screenshot({ path: PICTURE });
  await browser.close();
} finally {
  scratch.clean();
  await web.stop();
}
process.exit(0);
