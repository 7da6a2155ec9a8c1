// Archives of real pages. Three agents crawl two documentation trees; warcio reads the archives to
// the last record and checks every byte. Then every page is replayed from the place in its row and
// must equal the file that nginx served, or nginx's own error page.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ArchivedPage, archivedPageColumns, Replay } from '../unit/archive/replay.ts';
import { assertAccounted, crawlWithUbiring, siteNeeds, startSite } from './documentation-site.ts';
import { has } from './programs.ts';

/** Pages of both trees with status 200, and pages that do not exist. */
const pagesMin = 1_200;
const missingMin = 300;

for (const compression of ['gzip', 'zstd']) {
  test(`documentation: archives of ${compression} replay every page byte for byte`, {
    timeout: 300_000,
  }, async (t) => {
    if (!has(t, siteNeeds)) return;
    const directory = mkdtempSync(join(tmpdir(), 'ubiring-documentation-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const site = await startSite(t, directory);
    const archive = { fileBytes: '2MiB', compression };
    const crawl = await crawlWithUbiring(directory, site.seeds, { archive });
    const pages = await crawl.query<ArchivedPage>(`SELECT ${archivedPageColumns} FROM pages`);

    const replay = await Replay.of(crawl.dataDir);
    const count = { found: 0, missing: 0, bytes: 0 };
    for (const page of pages) {
      const body = replay.bodyOf(page);
      const isFound = page.status === 200;
      const { fetch_url: url } = page;
      const expected = isFound ? readFileSync(site.fileOf(url)) : await answerOf(url, page.status);
      assert.ok(body.equals(expected), `${url}: ${body.length} bytes of ${expected.length}`);
      count[isFound ? 'found' : 'missing']++;
      count.bytes += body.length;
    }
    const { files, uris, revisits, compressed } = replay;
    t.diagnostic(JSON.stringify({ ...count, files, exchanges: uris.length, revisits, compressed }));
    assert.ok(count.found >= pagesMin && count.missing >= missingMin, JSON.stringify(count));
    assert.ok(files > 3, 'files end at their maximum size');
    assert.ok(revisits > 0, 'equal pages are archived once');
    assert.ok(compressed > pagesMin / 3, 'one server compresses its pages');
    assert.deepEqual(new Set(uris).size, uris.length, 'each exchange is archived once');
    t.diagnostic(JSON.stringify(await assertAccounted([crawl], site.asked(), uris)));
  });
}

/** nginx's own answer, such as its page for status 404. */
async function answerOf(url: string, status: number): Promise<Buffer> {
  const answer = await fetch(url, { redirect: 'manual' });
  assert.equal(answer.status, status, url);
  return Buffer.from(await answer.arrayBuffer());
}
