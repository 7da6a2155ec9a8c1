import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ParseLanes } from '../../../agent/parse/lanes.ts';
import type { PageInput } from '../../../agent/parse/page.ts';

const SCRIPT = new URL('./unruly-worker.ts', import.meta.url);

const hanging: Record<string, Pick<PageInput, 'body' | 'sitemap'>> = {
  'a large page': { body: new Uint8Array(600 * 1024) },
  'a large sitemap': { body: new Uint8Array(600 * 1024), sitemap: { declared: false } },
  'a packed sitemap': { body: gzipSync('<urlset>'), sitemap: { declared: true } },
};

for (const [what, input] of Object.entries(hanging)) {
  test(`parse lanes: ${what} that takes for ever holds up no page`, async () => {
    const lanes = new ParseLanes({ workers: 1, timeoutMs: 600_000, script: SCRIPT });
    try {
      const url = 'http://a.test/hang';
      const hangs = lanes.parse({ ...input, contentType: 'text/html', url }, 0);
      const closed = assert.rejects(hangs, { code: 'parse_closed' });
      for (let n = 0; n < 3; n++) {
        const body = new TextEncoder().encode('<a href=next>');
        const page = { body, contentType: 'text/html', url: `http://a.test/${n}` };
        assert.equal((await lanes.parse(page, 0)).links.length, 1);
      }
      await lanes.close();
      await closed;
    } finally {
      await lanes.close();
    }
  });
}
