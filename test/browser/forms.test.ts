// The forms of the dashboard: what they send, what they say about the answer, and what the browser
// says about values that no agent takes. Skipped, with a message, where Debian's `chromium` is not
// installed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { type SyntheticCluster, startSynthetic } from './synthetic-cluster.ts';

const CHROMIUM = '/usr/bin/chromium';
const skip = fs.existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed`;

describe('forms of the dashboard', { skip, concurrency: 1 }, () => {
  let browser: Browser;
  let cluster: SyntheticCluster;

  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    cluster = await startSynthetic(2, 'ring');
  });

  after(async () => {
    await browser?.close();
    await cluster?.stop();
  });

  /** The part of the directives, with this answer to all that it sends. */
  async function opened(json: object, status = 200) {
    const page = await browser.newPage();
    const sent: unknown[] = [];
    await page.route(/\/api\/v1\/(seeds|directives)$/, async (route) => {
      sent.push(route.request().postDataJSON());
      await route.fulfill({ status, json });
    });
    await page.route(/\/moves\?/, (route) => route.fulfill({ status: 503, json: { detail: '' } }));
    page.setDefaultTimeout(15_000);
    await page.goto(`${cluster.url}#directives`);
    await page.getByRole('heading', { name: 'Directives' }).waitFor();
    return { page, sent };
  }

  test('each line is a seed, and the receipt counts those accepted and refused', async () => {
    const { page, sent } = await opened({
      'http://h.test/': { url: 'http://h.test/', owner: 'a1' },
      'not a url': { refused: 'not a URL' },
      'ftp://x': { refused: 'no http' },
    });
    await page.getByLabel('URLs, one per line').fill(' http://h.test/\n\nnot a url\r\nftp://x \n');
    await page.getByRole('button', { name: 'Add the seeds' }).click();
    const receipt = page.getByRole('status').filter({ hasText: 'Seeds: 1 accepted, 2 refused' });
    await receipt.waitFor();
    assert.match(await receipt.innerText(), /not a url: refused: not a URL$/m);
    assert.match(String(await receipt.getAttribute('class')), /warn/);
    assert.deepEqual(sent, [{ urls: ['http://h.test/', 'not a url', 'ftp://x'] }]);
    await page.close();
  });

  test('seeds that are all accepted have a good receipt', async () => {
    const { page } = await opened({ 'http://h.test/': { url: 'http://h.test/', owner: null } });
    await page.getByLabel('URLs, one per line').fill('http://h.test/');
    await page.getByRole('button', { name: 'Add the seeds' }).click();
    const receipt = page.getByRole('status').filter({ hasText: 'Seeds: 1 accepted, 0 refused' });
    await receipt.waitFor();
    assert.match(String(await receipt.getAttribute('class')), /good/);
    await page.close();
  });

  test('the browser says which values a field takes, and nothing else is sent', async () => {
    const { page, sent } = await opened({ a1: 'applied', a2: 'applied' });
    const host = page.getByLabel('A host, or');
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const isRefused = async (label: string, value: string, name: string, why: RegExp) => {
      const field = page.getByLabel(label);
      await field.fill(value);
      await button(name).focus();
      await page.keyboard.press('Enter');
      const at = `${name}: ${value}`;
      const [message, isFocused] = await field.evaluate((field) => {
        const { validationMessage } = field as unknown as { validationMessage: string };
        return [validationMessage, field.matches(':focus')] as const;
      });
      assert.match(message, why, at);
      assert.ok(isFocused, at);
    };
    await isRefused('A host, or', '', 'Block', /fill/);
    await isRefused('A host, or', 'two words', 'Unblock', /format/);
    await host.fill(' h.test ');
    for (const [value, why] of [
      ['', /fill/],
      ['-5', /\b0\b/],
      ['1.5', /\b1 and 2\b/],
      ['999999999', /\b86400000\b/],
    ] as const) {
      await isRefused('Delay in milliseconds', value, 'Set the delay', why);
    }
    for (const [value, why] of [
      ['0.5', /\b1\b/],
      ['1.5', /\b1 and 2\b/],
      ['99999', /\b4096\b/],
    ] as const) {
      await isRefused('Threads', value, 'Set the threads', why);
    }
    for (const [value, why] of [
      ['', /above 0/],
      ['0', /above 0/],
      ['-1', /\b0\b/],
      ['1001', /\b1000\b/],
    ] as const) {
      await isRefused('Capacity', value, 'Set the capacity', why);
    }
    assert.deepEqual(sent, []);
    // A value of another field does not matter.
    await button('Block').click();
    await page.getByRole('status').filter({ hasText: 'Block h.test: 2 of 2' }).waitFor();
    await page.getByLabel('Delay in milliseconds').fill('86400000');
    await button('Set the delay').click();
    await page.getByRole('status').filter({ hasText: 'Delay of h.test: 2 of 2' }).waitFor();
    await page.getByLabel('Threads').fill('4096');
    await button('Set the threads').click();
    await page.getByRole('status').filter({ hasText: 'Threads of a1: 2 of 2' }).waitFor();
    await page.getByLabel('Capacity').fill('0.25');
    await button('Set the capacity').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Set the capacity' }).click();
    await page.getByRole('status').filter({ hasText: 'Capacity of a1: 2 of 2' }).waitFor();
    assert.deepEqual(sent, [
      { kind: 'block', host: 'h.test' },
      { kind: 'delay', host: 'h.test', delayMs: 86_400_000 },
      { kind: 'threads', agent: 'a1', value: 4096 },
      { kind: 'capacity', agent: 'a1', value: 0.25 },
    ]);
    await page.close();
  });

  test('a remedy keeps its lines, and is one for people', async () => {
    const remedy = 'give one of these:\n  block h.test\n  delay i.test';
    for (const [given, shown] of [
      [remedy, /^no such directive\ngive one of these:\n *block h\.test\n *delay i\.test$/],
      ['GET /api/v1/openapi.json describes every request', /^no such directive$/],
    ] as const) {
      const { page } = await opened({ detail: 'no such directive', remedy: given }, 400);
      await page.getByLabel('A host, or').fill('h.test');
      await page.getByRole('button', { name: 'Unblock', exact: true }).click();
      const note = page.getByRole('alert').filter({ hasText: 'no such directive' });
      assert.match(await note.innerText(), shown);
      await page.close();
    }
  });
});
