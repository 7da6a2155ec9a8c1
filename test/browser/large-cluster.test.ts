// The dashboard of clusters of 4 and 64 agents that do not exist: the trie of Kademlia, and what is
// readable of many agents. Skipped, with a message, where Debian's `chromium` is not installed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { untilAsked } from '../integration/cli-process.ts';
import { type SyntheticCluster, startSynthetic } from './synthetic-cluster.ts';

const CHROMIUM = '/usr/bin/chromium';
const WIDTHS = [360, 768, 1600];
/** Text in SVG grows and shrinks with it. */
const TEXT_PX_MIN = 9;
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const skip = fs.existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed`;

/** Names of texts that are smaller than people can read, in the whole page. */
const SMALL = `[...document.querySelectorAll('main text')].filter((text) =>
  text.getBoundingClientRect().height < ${TEXT_PX_MIN}).map((text) => text.textContent)`;
/** Pairs of names in one SVG that cover each other. */
const COVERED = `[...document.querySelectorAll('main svg')].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([a, one], i) => boxes.slice(i + 1).filter(([, other]) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom - 3 && other.top < one.bottom - 3)
    .map(([b]) => a + ' ' + b));
})`;

describe('dashboard of clusters that do not exist', { skip, concurrency: 1 }, () => {
  let browser: Browser;

  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  });

  const clusters: SyntheticCluster[] = [];

  after(async () => {
    await browser?.close();
    for (const cluster of clusters) await cluster.stop();
  });

  async function started(...of: Parameters<typeof startSynthetic>): Promise<SyntheticCluster> {
    const cluster = await startSynthetic(...of);
    clusters.push(cluster);
    return cluster;
  }

  async function opened(url: string, width: number, colorScheme: 'light' | 'dark' = 'light') {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(url);
    await page.locator('.circle svg').first().waitFor();
    return { page, faults };
  }

  const trieOf = (page: Page) => page.getByRole('img', { name: /^Trie of the identifiers/ });

  test('a trie shows the identifiers of each agent, and those of a dead one as passed', async () => {
    const cluster = await started(4, 'kademlia');
    const { page, faults } = await opened(cluster.url, 1600);
    const label = await trieOf(page).getAttribute('aria-label');
    assert.match(String(label), /a1 8 identifiers, [\d.]+\s%; .*a4 8 identifiers, [\d.]+\s%$/);
    assert.equal(await page.locator('.trie .leaf').count(), 4);
    // The names are drawn when the width of the page is known.
    const names = page.locator('.trie .name');
    await untilAsked('most leaves have a name', async () => (await names.count()) > 10);
    assert.equal(await page.locator('.trie .ghost').count(), 0);
    cluster.kill('a3');
    await page.locator('.trie .ghost').waitFor();
    const passed = await page.locator('.trie .ghost').getAttribute('d');
    assert.equal(passed?.match(/M/g)?.length, 8, 'each identifier of a3');
    await page
      .getByRole('status')
      .getByText(/The [\d.]+\s% of a3 passed to /)
      .waitFor();
    assert.deepEqual(faults, []);
    await page.close();
  });

  /** The percentages of the legend, by agent. */
  const legendOf = async (page: Page) => {
    const texts = await page.locator('.legend li').allTextContents();
    return new Map(
      texts.map((text) => [text.slice(0, 2), Number(/[\d.]+(?=\s%)/.exec(text.slice(2))![0])]),
    );
  };

  /** What a note says: the part of `id`, and the parts that passed to others, in percent. */
  const passedOf = async (page: Page, id: string) => {
    const note = page
      .getByRole('status')
      .getByText(new RegExp(`The [\\d.]+\\s% of ${id} passed to `));
    const text = String(await note.textContent());
    const [had = 0, ...parts] = text.match(/[\d.]+(?=\s%)/g)!.map(Number);
    const heirs = [...text.matchAll(/(a\d) \(([\d.]+)/g)].map(
      ([, heir, part]) => [heir!, Number(part)] as const,
    );
    return {
      text,
      had,
      sum: parts.reduce((all, part) => all + part, 0),
      rounding: 0.05 * (parts.length + 1) + 1e-9,
      heirs,
    };
  };

  test('the parts that passed add up to the part of the dead agent, and agree with the legend', async () => {
    for (const overlay of ['ring', 'kademlia'] as const) {
      for (const [agents, dead] of [
        [3, ['a3']],
        [8, ['a3']],
        [6, ['a2', 'a5']],
      ] as const) {
        const cluster = await started(agents, overlay);
        const { page } = await opened(cluster.url, 1600);
        await page
          .locator('.legend li')
          .nth(agents - 1)
          .waitFor();
        const earlier = await legendOf(page);
        for (const id of dead) cluster.kill(id);
        for (const id of dead) {
          const { text, had, sum, rounding, heirs } = await passedOf(page, id);
          assert.equal(had, earlier.get(id), text);
          assert.ok(Math.abs(had - sum) <= rounding, `${overlay}: ${text}`);
          if (dead.length > 1) continue;
          const later = await legendOf(page);
          for (const [heir, part] of heirs) {
            const gain = later.get(heir)! - earlier.get(heir)!;
            assert.ok(
              Math.abs(gain - part) <= 0.15 + 1e-9,
              `${overlay}: ${heir} got ${gain}; ${text}`,
            );
          }
        }
        await page.close();
      }
    }
  });

  test('the keyboard shows an agent among the others, on the circle and in the trie', async () => {
    for (const overlay of ['ring', 'kademlia'] as const) {
      const cluster = await started(4, overlay);
      const { page } = await opened(cluster.url, 1600);
      const faint = page.locator('.circle > svg .faint, .trie .faint');
      assert.equal(await faint.count(), 0);
      const first = page.locator('.legend button').first();
      const isShown = (id: string) =>
        untilAsked(`the others are faint, not ${id}`, async () => {
          const titles = await faint.locator('title').allTextContents();
          return titles.length === 3 && titles.every((title) => !title.startsWith(`${id}:`));
        });
      await first.focus();
      await isShown('a1');
      await page.keyboard.press('Tab');
      await isShown('a2');
      await page.close();
    }
  });

  test('More shows each host once, whatever the queues do meanwhile', async () => {
    const hosts = 330;
    const cluster = await started(4, 'ring', hosts);
    const { page, faults } = await opened(cluster.url, 1600);
    for (const part of ['hosts', 'hosts?sort=host']) {
      await page.goto(`${cluster.url}#${part}`);
      for (const shown of [100, 200, 300]) {
        const rows = page.locator('tbody tr');
        await untilAsked(`${shown} hosts`, async () => (await rows.count()) === shown);
        await page.getByRole('button', { name: 'More' }).click();
      }
      const more = page.getByRole('button', { name: 'More' });
      await untilAsked('all hosts', async () => (await more.count()) === 0);
      const names = await page.locator('tbody td:first-child').allTextContents();
      assert.deepEqual([names.length, new Set(names).size], [hosts, hosts], part);
    }
    assert.deepEqual(faults, []);
    await page.close();
  });

  for (const overlay of ['ring', 'kademlia'] as const) {
    test(`64 agents are readable at every width, ${overlay}`, async () => {
      const cluster = await started(64, overlay);
      for (const width of WIDTHS) {
        const { page, faults } = await opened(cluster.url, width, width === 768 ? 'dark' : 'light');
        for (const part of ['overview', 'agents']) {
          const at = `${part}, ${width} px`;
          await page.goto(`${cluster.url}#${part}`);
          await page.locator('main h2').first().waitFor();
          const tooWide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          assert.ok(Number(tooWide) <= 0, `${at}: ${tooWide} px too wide`);
          assert.deepEqual(await page.evaluate(SMALL), [], `${at}: small text`);
          assert.deepEqual(await page.evaluate(COVERED), [], `${at}: names over names`);
          await page.evaluate(axe);
          const found = await page.evaluate(
            `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
              .filter(({ impact }) => ['serious', 'critical'].includes(impact)).map(({ id }) => id))`,
          );
          assert.deepEqual(found, [], at);
        }
        await page.goto(`${cluster.url}#overview`);
        assert.equal(await page.locator('.legend li').count(), 64);
        const map = page.locator('.map svg');
        const box = (await map.boundingBox())!;
        assert.ok(box.height < 520, `${box.height} px high`);
        await map.hover({ position: { x: box.width - 3, y: box.height - 3 - box.height / 64 } });
        await page
          .getByText(/^a63 heard a64 /)
          .first()
          .waitFor();
        assert.deepEqual(faults, []);
        await page.close();
      }
    });
  }

  test('the agents are sorted by a press on a title', async () => {
    const cluster = await started(64, 'ring');
    const { page } = await opened(cluster.url, 1600);
    await page.goto(`${cluster.url}#agents`);
    const isOrder = (wanted: readonly number[]) =>
      untilAsked(`the order ${wanted}`, async () => (await shown()).join() === wanted.join());
    const shown = async () => {
      const cells = await page.locator('tbody tr td:nth-child(3)').allTextContents();
      return cells.map((text) => Number(text.replaceAll(',', '')));
    };
    const title = page.getByRole('button', { name: /^Hosts/ });
    const before = await shown();
    await title.click();
    assert.deepEqual(
      await shown(),
      before.toSorted((a, b) => b - a),
    );
    await page
      .getByRole('columnheader', { name: /^Hosts/ })
      .and(page.locator('[aria-sort="descending"]'))
      .waitFor();
    await title.click();
    assert.deepEqual(
      await shown(),
      before.toSorted((a, b) => a - b),
    );
    await title.click();
    await isOrder(before);
    await page.close();
  });

  test('without an answer the header has no zeros, and steps of an axis are told apart', async () => {
    const cluster = await started(2, 'ring');
    const { page } = await opened(cluster.url, 1600);
    const numbers = page.locator('header .numbers');
    await numbers.getByText('pages', { exact: true }).waitFor();
    const steps = await page.evaluate(
      `import('/format.js').then(({ step }) => [0, 0.25, 0.5, 1, 2.5, 10, 25000].map(step))`,
    );
    assert.deepEqual(steps, ['0', '0.25', '0.5', '1', '2.5', '10', '25K']);
    cluster.kill('a1');
    cluster.kill('a2');
    await numbers.getByText('0 of 2').waitFor();
    assert.equal(await numbers.innerText(), 'agents\n0 of 2');
    await page.getByRole('heading', { name: 'No agent runs' }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Replay' }).waitFor();
    assert.equal(await page.locator('.chart').count(), 0);
    await page.close();
  });

  test('many events of a kind do not hide the others from the overview', async () => {
    const cluster = await started(2, 'ring');
    const { page } = await opened(cluster.url, 1600);
    const shown = page.locator('.events .detail');
    await shown.first().waitFor();
    assert.deepEqual(await shown.allTextContents(), ['handoff 6', 'handoff 5', 'takeover 0']);
    await page.close();
  });

  test('a client is offered only what its role permits', async () => {
    const cluster = await started(2, 'ring');
    const { page } = await opened(cluster.url, 1600);
    const pause = page.getByRole('button', { name: 'Pause', exact: true });
    const isOffered = async (what: ReturnType<Page['getByRole']>, wanted: boolean) =>
      untilAsked(`${what} is ${wanted}`, async () => (await what.isEnabled()) === wanted);
    const leave = page.getByRole('button', { name: 'Leave a1' });
    const block = page.getByRole('button', { name: 'Pause the crawl' });
    for (const [role, steers, admits] of [
      ['read', false, false],
      ['steer', true, false],
      ['admin', true, true],
    ] as const) {
      cluster.role(role);
      await page.reload();
      await page.goto(`${cluster.url}#directives`);
      await isOffered(pause, steers);
      await isOffered(block, steers);
      const note = await page.getByText('These need role steer: press Token.').count();
      assert.equal(note, steers ? 0 : 1, role);
      await page.goto(`${cluster.url}#agents`);
      await isOffered(leave, admits);
    }
    await page.close();
  });

  test('a page whose stream brings nothing asks for the state', async () => {
    const cluster = await started(2, 'ring');
    const { page } = await opened(cluster.url, 1600);
    // As by a proxy that holds it back.
    await page.route(/\/api\/v1\/events/, () => {});
    await page.reload();
    await page.getByText('2 of 2').waitFor();
    cluster.kill('a2');
    await page.getByText('a2 does not answer').first().waitFor();
    await page.close();
  });

  test('a token that is refused can be forgotten, and the remedy is one for a browser', async () => {
    const cluster = await started(2, 'ring');
    const { page } = await opened(cluster.url, 1600);
    await page.route(/\/api\/v1\/(cluster|events)/, (route) => {
      if (route.request().headers().authorization === undefined) return route.continue();
      const problem = { detail: 'the token is not known', code: 'token-unknown', remedy: 'send' };
      return route.fulfill({ status: 401, json: problem });
    });
    await page.getByRole('button', { name: 'Token', exact: true }).click();
    await page.getByRole('textbox', { name: 'Token' }).fill('wrong');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('press Token, and enter another one').first().waitFor();
    await page.locator('header').getByText('refused').waitFor();
    await page.getByRole('button', { name: 'Token', exact: true }).click();
    await page.getByRole('button', { name: 'Forget it' }).click();
    await page.locator('header').getByText('crawling').waitFor();
    await page.close();
  });

  test('Replay shows the last sample of each agent, and a change once', async () => {
    const cluster = await started(4, 'ring');
    const { page } = await opened(cluster.url, 1600);
    await page.goto(`${cluster.url}#replay`);
    const keys = page.locator('.keys').first();
    await keys.waitFor();
    assert.match(await keys.innerText(), /a1 3\.0\s+a2 4\.0\s+a3 5\.0\s+a4 6\.0/);
    const changes = page
      .getByRole('list', { name: 'Changes of the members' })
      .getByRole('listitem');
    assert.equal(await changes.count(), 1);
    assert.match(await changes.innerText(), /a1\s+joins\s+seen by a1, a2, a3, a4$/);
    // Before the first samples nothing is known, which is not the same as 0 pages.
    const pages = page.locator('.player dd').first();
    assert.equal(await pages.innerText(), '400');
    await page.goto(`${cluster.url}#replay?at=1500`);
    await page.locator('.player dd', { hasText: '–' }).first().waitFor();
    await page.close();
  });

  test('Replay shows what passed forwards in time only', async () => {
    const cluster = await started(4, 'kademlia');
    const { page, faults } = await opened(cluster.url, 1600);
    await page.goto(`${cluster.url}#replay?at=9000`);
    const note = page.getByText(/The [\d.]+\s% of a4 passed to/);
    await page.locator('.legend li').nth(2).waitFor();
    await page.goto(`${cluster.url}#replay?at=4000`);
    await page.locator('.legend li').nth(3).waitFor();
    await page.goto(`${cluster.url}#replay?at=9000`);
    await note.waitFor();
    await page.goto(`${cluster.url}#replay?at=1000`);
    await page.locator('.legend li').nth(1).waitFor({ state: 'detached' });
    // a2 has not joined yet; what was shown before goes after the circle is drawn.
    await page.getByText(/passed to/).waitFor({ state: 'detached' });
    const steps = await page.evaluate('history.length');
    const slider = page.getByRole('slider');
    for (const place of ['200', '400', '600']) await slider.fill(place);
    await page.waitForURL((url) => !url.hash.endsWith('at=1000'));
    assert.equal(await page.evaluate('history.length'), steps, 'Back leads to the page before');
    assert.deepEqual(faults, []);
    await page.close();
  });
});
