// The lists of the dashboard: answers that fail, answers that are old or belong to another crawl, and
// notes about rows that are not shown. Skipped, with a message, where Debian's `chromium` is not
// installed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { Scratch, startAsGiven, until, untilAsked } from '../integration/cli-process.ts';
import { startWeb } from '../web/server.ts';
import { type SyntheticCluster, startSynthetic } from './synthetic-cluster.ts';

const NET = 124;
const CHROMIUM = '/usr/bin/chromium';
const skip = fs.existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed`;

describe('lists of the dashboard', { skip, concurrency: 1 }, () => {
  let browser: Browser;
  let cluster: SyntheticCluster;

  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    cluster = await startSynthetic(2, 'ring', 150);
  });

  after(async () => {
    await browser?.close();
    await cluster?.stop();
  });

  async function opened(part: string, prepare: (page: Page) => Promise<unknown> = async () => {}) {
    const page = await browser.newPage();
    page.setDefaultTimeout(15_000);
    await prepare(page);
    await page.goto(`${cluster.url}#${part}`);
    await page.locator('main h2').first().waitFor();
    return page;
  }

  /** The page asks for the state, and gets it with these changes. */
  const changed = (more: object) => async (page: Page) => {
    await page.route(/\/api\/v1\/events/, () => {});
    await page.route(/\/api\/v1\/cluster/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), ...more } });
    });
  };

  test('no row of another list is shown if a list fails, and the chosen agent stays', async () => {
    const problem = { status: 400, json: { detail: 'no agent zz' } };
    const page = await opened('hosts', (one) =>
      one.route(/\/hosts\?.*(agent=zz|search=nope)/, (route) => route.fulfill(problem)),
    );
    const rows = page.locator('tbody tr');
    const more = page.getByRole('button', { name: 'More' });
    await more.waitFor();
    await page.goto(`${cluster.url}#hosts?agent=zz`);
    await page.getByRole('alert').getByText('no agent zz').waitFor();
    assert.deepEqual([await rows.count(), await more.count()], [0, 0]);
    const agent = page.getByRole('combobox', { name: 'Agent', exact: true });
    assert.equal(await agent.inputValue(), 'zz');
    await page.goto(`${cluster.url}#hosts`);
    await more.waitFor();
    await page.close();
  });

  test('the hosts are loaded again while they are all of the first page', async () => {
    const page = await opened('hosts', (one) => one.clock.install());
    const first = page.locator('tbody tr').first();
    await first.waitFor();
    const before = await first.innerText();
    await page.clock.fastForward(10_000);
    await untilAsked('other rows', async () => (await first.innerText()) !== before);
    await page.getByText(/^As of [\d:]+$/).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByText(/^As of [\d:]+; with more rows, the list is not refreshed$/).waitFor();
    await page.close();
  });

  for (const [what, hasMark] of [
    ['a deleted state', true],
    ['a crawl with another name', false],
  ] as const) {
    test(`events of ${what} go when another crawl begins`, async () => {
      let crawl = 'old';
      const page = await opened('events', async (one) => {
        await one.route(/\/api\/v1\/events/, async (route) => {
          const last = (await route.request().headerValue('last-event-id')) ?? '';
          const event = { agent: 'a1', at: 1000, kind: 'trap', text: `of the ${crawl} one` };
          const id = hasMark ? `a2.0,a1.1@${crawl}` : 'a2.0,a1.1';
          const body = last === id ? ': none\n\n' : `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
          await route.fulfill({ body, contentType: 'text/event-stream' });
        });
        await one.route(/\/api\/v1\/cluster/, async (route) => {
          const response = await route.fetch();
          const name = hasMark ? 'one' : crawl;
          await route.fulfill({ response, json: { ...(await response.json()), name } });
        });
      });
      const shown = page.locator('.events .detail');
      await page.getByText('of the old one').waitFor();
      crawl = 'new';
      await page.getByText('of the new one').waitFor();
      assert.deepEqual(await shown.allTextContents(), ['of the new one']);
      await page.close();
    });
  }

  test('a filter that no event matches is not taken for events that were not read', async () => {
    const page = await opened('events?kind=trap');
    await page.getByText('No event matches.').waitFor();
    await page.close();
  });

  test('SQL says how many rows are shown, and Directives that not all are listed', async () => {
    const rows = Array.from({ length: 2500 }, (_, n) => ({ n }));
    const sql = await opened('sql', (one) =>
      one.route(/\/query$/, (route) => route.fulfill({ json: { columns: ['n'], rows } })),
    );
    await sql.getByRole('button', { name: 'Run' }).click();
    await sql.getByText(/^2,500 rows in .*; the first 2,000 are shown$/).waitFor();
    assert.equal(await sql.locator('tbody tr').count(), 2000);
    await sql.close();
    const order = { kind: 'block', value: 1, by: 'a1', applied: [], missing: [] };
    const orders = Array.from({ length: 100 }, (_, n) => ({ ...order, host: `h${n}.test` }));
    const note = 'Not more than 100 are listed; the view orders has all.';
    for (const [given, notes] of [
      [orders, 1],
      [orders.slice(1), 0],
    ] as const) {
      const page = await opened('directives', changed({ orders: given }));
      await page.getByRole('cell', { name: 'h98.test', exact: true }).waitFor();
      assert.equal(await page.getByText(note).count(), notes);
      await page.close();
    }
  });

  test('after a leave the focus is in the list, and what is stored is read by keyboard', async () => {
    const report = { url: 'http://h.test/', filters: [], order: ['a1'], stored: { url: {} } };
    const lookup = await opened('lookup?url=http://h.test/', (one) =>
      one.route(/\/explain/, (route) => route.fulfill({ json: report })),
    );
    await lookup.getByText('All that is stored').click();
    const stored = lookup.getByRole('region', { name: 'All that is stored' });
    await stored.focus();
    assert.equal(await lookup.evaluate('document.activeElement.tagName'), 'PRE');
    await lookup.close();
    const page = await opened('agents', async (one) => {
      await one.route(/\/moves(\?|$)/, (route) =>
        route.fulfill({ status: 503, json: { detail: '' } }),
      );
      await one.route(/\/leave$/, (route) => route.fulfill({ json: { a2: 'applied' } }));
    });
    await page.getByRole('button', { name: 'Leave a2' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    await page.getByText('1 of 1 agents have it').waitFor();
    cluster.kill('a2');
    await page.getByRole('button', { name: 'Leave a2' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    // A dialog that is still open would keep the focus.
    await page.locator('h2:focus', { hasText: 'Agents' }).waitFor();
    await page.close();
  });
});

test('a page that is open when the crawl is completed says so', { skip }, async () => {
  const scratch = new Scratch();
  const web = await startWeb({ hosts: 2, pages: 20, port: 0, net: NET });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const more = { seeds: [web.seed], politeness: { hostDelayMs: 500 } };
    const launch = startAsGiven(['launch', await scratch.config(2, more)], {}, 120_000);
    await until('the dashboard is served', () => /dashboard: (\S+)/.test(launch.stderr()));
    const page = await browser.newPage();
    await page.goto(/dashboard: (\S+)/.exec(launch.stderr())![1]!);
    await page.locator('header').getByText('crawling').waitFor();
    await launch.ended;
    await page.getByText('The crawl was completed, and this server has ended.').waitFor();
    await page.getByText(/The crawl was completed at /).waitFor();
    await page.locator('header').getByText('complete').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  } finally {
    await browser.close();
    scratch.clean();
    await web.stop();
  }
});
