// A crawl of the synthetic web by a cluster of real processes, replayed from its archives: each
// page comes out of them byte for byte as the server answers it, from the place that the page's
// row names; robots.txt, redirects and errors are there too; the index names every response.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { run, Scratch } from '../integration/cli-process.ts';
import { assertDigests, type ReadRecord, readWarc } from '../unit/archive/reading.ts';
import { answerOf } from '../web/answer.ts';
import { startWeb } from '../web/server.ts';

interface Page {
  readonly agent: string;
  readonly url: string;
  readonly fetch_url: string;
  readonly status: number;
  readonly bytes: number;
  readonly warc_file: string | null;
  readonly warc_offset: number | null;
}

const shares = { flaky: 0, slow: 0 };
const size = { hosts: 12, pages: 15, port: 0, net: 71 };

test('archive: a crawl is replayed from it, byte for byte', async (t) => {
  const web = await startWeb({ ...size, shares });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const config = await scratch.config(3, {
    seeds: [web.seed],
    politeness: { hostDelayMs: 20 },
    archive: { fileBytes: '64KiB' },
  });
  const launched = await run('launch', config);
  assert.equal(launched.code, 0, launched.stderr);
  const { stdout } = await run('query', config, 'SELECT * FROM pages', '--format', 'json');
  const pages = JSON.parse(stdout) as Page[];
  assert.ok(pages.length > 100, `${pages.length} pages`);

  const archives = await readAll(scratch.dataDir);
  const byDate = originals(archives);
  for (const page of pages) {
    const at = `${page.warc_file} ${page.warc_offset}`;
    const record = archives.get(at);
    assert.ok(record, `${page.url} is at ${at}`);
    assert.equal(record.headers['warc-target-uri'], page.fetch_url);
    const { hostname, pathname, search } = new URL(page.fetch_url);
    const answer = answerOf(web.web, web.web.hostOf(hostname), `${pathname}${search}`, 0);
    assert.equal(record.firstLine?.split(' ')[1], String(answer.status));
    assert.deepEqual(contentOf(record, byDate), Buffer.from(answer.body), page.url);
  }
  const uris = [...archives.values()].map(({ headers }) => headers['warc-target-uri']!);
  const visited = new Set(pages.map(({ url }) => new URL(url).origin));
  for (const origin of visited) assert.ok(uris.includes(`${origin}/robots.txt`), origin);
  const requests = web.requests().length;
  assert.equal(uris.length, requests, 'each request that was answered is there once');
});

/** All responses and revisits, by file and offset, once each file was found sound. */
async function readAll(dataDir: string): Promise<Map<string, ReadRecord>> {
  const found = new Map<string, ReadRecord>();
  for (const file of fs.globSync('*/warc/*.warc.gz', { cwd: dataDir })) {
    const whole = path.join(dataDir, file);
    const records = await readWarc(whole);
    assert.equal(assertDigests(whole), records.length);
    const responses = records.filter(({ type }) => type === 'response' || type === 'revisit');
    for (const record of responses) found.set(`${path.basename(file)} ${record.offset}`, record);
    const lines = fs.readFileSync(whole.replace('.warc.gz', '.cdxj'), 'utf8').trim().split('\n');
    assert.equal(lines.length, responses.length);
  }
  return found;
}

type Originals = ReadonlyMap<string, ReadRecord>;

function originals(archives: ReadonlyMap<string, ReadRecord>): Originals {
  const responses = [...archives.values()].filter(({ type }) => type === 'response');
  return new Map(
    responses.map((record) => {
      const { headers } = record;
      return [`${headers['warc-target-uri']} ${headers['warc-payload-digest']}`, record];
    }),
  );
}

/** Of a revisit, that of the record which it names. */
function contentOf({ type, headers, content }: ReadRecord, byDate: Originals): Buffer {
  if (type === 'response') return content;
  const key = `${headers['warc-refers-to-target-uri']} ${headers['warc-payload-digest']}`;
  const original = byDate.get(key);
  assert.ok(original, `the original of ${headers['warc-target-uri']}`);
  assert.equal(original.headers['warc-date'], headers['warc-refers-to-date']);
  return original.content;
}
