// The work of the parsing thread for a page, part by part, on one thread and without a network.
// Pages of the web of `rivals.ts` are parsed as in an agent, and with the minimum that a crawler
// needs htmlparser2 for: reading the links and resolving them. The sum of the parts is less than
// the whole, because work between them is omitted.
// node bench/parse.ts [--rounds 5] [--pages 400] [--bytes 20500] [--json]

import { hash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Parser } from 'htmlparser2';
import { simhashOf } from '../agent/parse/fingerprint/simhash.ts';
import { resolveLinks } from '../agent/parse/page/links.ts';
import { LINKS_MAX, parsePage, SIMHASH_WORDS_MIN } from '../agent/parse/page/page.ts';
import { scanPage } from '../agent/parse/page/page-scan.ts';
import { whole } from './flags.ts';
import { temporaryDirectory } from './leftovers.ts';
import { PlainWeb } from './plain-web.ts';
import { command, progress, type Report } from './report.ts';
import { spread, spreadText } from './sample.ts';

const flags = { rounds: 5, pages: 400, bytes: whole(20_500, 1000, 1_000_000) };

const url = 'http://127.9.0.1:8000/s1/p1.html';
const contentType = 'text/html; charset=utf-8';
/** Warm-up rounds, so that all code is compiled. */
const warmUps = 3;

interface Page {
  readonly body: Buffer;
  readonly text: string;
  readonly scan: ReturnType<typeof scanPage>;
}

const parts: readonly { readonly title: string; readonly run: (page: Page) => unknown }[] = [
  { title: 'all of it', run: ({ body }) => parsePage({ body, contentType, url }) },
  { title: 'reading it once for links and directives', run: ({ text }) => scanPage(text) },
  { title: 'fingerprint of its words', run: ({ text }) => simhashOf(text, SIMHASH_WORDS_MIN) },
  { title: 'links to URLs', run: ({ scan }) => resolveLinks(scan, url, 'UTF-8', LINKS_MAX) },
  { title: 'SHA-256', run: ({ body }) => hash('sha256', body, 'hex') },
  { title: 'bare: htmlparser2 and new URL', run: ({ body }) => bare(body.toString()) },
];

await command('parse', flags, async (given): Promise<Report> => {
  const pages = drawn(given.pages, given.bytes);
  const times = parts.map((): number[] => []);
  for (let round = 1 - warmUps; round <= given.rounds; round++) {
    for (const [k, { run }] of parts.entries()) {
      const usPerPage = cpuUs(() => pages.forEach(run)) / pages.length;
      if (round > 0) times[k]!.push(usPerPage);
    }
    if (round > 0) progress(`round ${round} of ${given.rounds}`);
  }
  const figures = parts.map(({ title }, k) => ({ title, us: spread(times[k]!) }));
  const rows = figures.map(({ title, us }) => [title, spreadText(us, 0)]);
  const title = 'Processor microseconds a page, median (least-most):';
  return { tables: [{ title, columns: ['', 'us'], rows }], remarks: [], figures };
});

function drawn(count: number, bodyBytes: number): Page[] {
  const { directory, remove } = temporaryDirectory();
  try {
    new PlainWeb({ hosts: 1, pages: count, bodyBytes }, 8000).write(directory);
    const files = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' });
    return files
      .filter((file) => file.endsWith('.html'))
      .map((file) => {
        const body = fs.readFileSync(path.join(directory, file));
        const text = body.toString();
        return { body, text, scan: scanPage(text) };
      });
  } finally {
    remove();
  }
}

function bare(text: string): URL[] {
  const links: URL[] = [];
  const parser = new Parser({
    onopentag: (name, { href }) => {
      if (name === 'a' && href !== undefined) links.push(new URL(href, url));
    },
  });
  parser.end(text);
  return links;
}

function cpuUs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
