// Proof on real input: three agents and Scrapy crawl two documentation trees from Debian, served by
// nginx on two loopback addresses, from the same seeds. Both must reach the same URLs with the same
// answers, except for the differences that docs/RELIABILITY.md explains, and nginx's log must show
// each URL once.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertAccounted, crawlWithUbiring, siteNeeds, startSite } from './documentation-site.ts';
import { finish, has, type Need, python } from './programs.ts';

const spider = join(import.meta.dirname, 'documentation-spider.py');

const needs: readonly Need[] = [
  ...siteNeeds,
  { name: 'Scrapy', check: [python, '-c', 'import scrapy'], debianPackage: 'python3-scrapy' },
];

/** Requests that only one of the two makes. docs/RELIABILITY.md explains each. */
const explained: readonly { by: 'ubiring' | 'scrapy'; path: string; why: string }[] = [
  {
    by: 'scrapy',
    path: '/%5C',
    why: 'href="\\": a browser, as the URL Standard says, reads a backslash as a slash',
  },
];

/** Minimum pages of both trees, so that an empty or partial crawl fails. */
const pagesMin = 1_200;
/** The crawl of Scrapy takes two minutes on two cores. */
const scrapyMsMax = 600_000;

interface Answer {
  readonly status: number | null;
  readonly isHtml: boolean;
}

test('documentation: three agents and Scrapy reach the same pages, each requested once', {
  timeout: 900_000,
}, async (t) => {
  if (!has(t, needs)) return;
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-documentation-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const site = await startSite(t, directory);

  const [crawl, scrapy] = await Promise.all([
    crawlWithUbiring(directory, site.seeds),
    crawledByScrapy(directory, site.seeds),
  ]);
  const ubiring = answersOf(
    await crawl.query('SELECT url, status, content_type AS type FROM pages'),
  );
  const pages = [...ubiring.values()].filter(({ status, isHtml }) => status === 200 && isHtml);
  assert.ok(pages.length >= pagesMin, `${pages.length} pages`);
  assert.deepEqual(unexplained('ubiring', ubiring, scrapy), []);
  assert.deepEqual(unexplained('scrapy', scrapy, ubiring), []);
  const answers = [...ubiring].filter(([url, answer]) => {
    const other = scrapy.get(url);
    return other && (other.status !== answer.status || other.isHtml !== answer.isHtml);
  });
  assert.deepEqual(answers, []);
  // Explanations without an effect must be removed.
  const used = explained.filter(({ path }) => [...scrapy.keys()].some((url) => url.endsWith(path)));
  assert.deepEqual(used, explained);
  const asked = site.asked().filter((place) => !place.endsWith('/robots.txt'));
  const fetched = await crawl.query<{ url: string }>('SELECT fetch_url AS url FROM pages');
  await assertAccounted(
    [crawl],
    asked,
    fetched.map(({ url }) => url),
  );
});

async function crawledByScrapy(
  directory: string,
  seeds: readonly string[],
): Promise<Map<string, Answer>> {
  const out = join(directory, 'scrapy.jsonl');
  const ended = await finish(python, [spider, out, ...seeds], scrapyMsMax);
  assert.equal(ended.code, 0, ended.stderr);
  const lines = readFileSync(out, 'utf8').trimEnd().split('\n');
  return answersOf(lines.map((line) => JSON.parse(line)));
}

function answersOf(
  rows: readonly { url: string; status: number | null; type: string | null }[],
): Map<string, Answer> {
  return new Map(
    rows.map(({ url, status, type }) => {
      return [url, { status, isHtml: type?.startsWith('text/html') ?? false }];
    }),
  );
}

function unexplained(
  by: 'ubiring' | 'scrapy',
  mine: ReadonlyMap<string, Answer>,
  theirs: ReadonlyMap<string, Answer>,
): string[] {
  const may = (url: string) =>
    explained.some((one) => one.by === by && new URL(url).pathname === one.path);
  return [...mine.keys()].filter((url) => !theirs.has(url) && !may(url));
}
