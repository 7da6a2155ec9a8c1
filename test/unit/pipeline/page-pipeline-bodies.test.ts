// Tests that the memory that a request reserves for its body is released, whatever the outcome of
// the request.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PageRequest } from '../../../agent/core/protocol/effects.ts';
import { BodyBudget } from '../../../agent/fetch/body/body-budget.ts';
import type { FetchResult } from '../../../agent/fetch/fetch.ts';
import { type ParsedPage, parsePage } from '../../../agent/parse/page/page.ts';
import { PagePipeline, type PipelineParts } from '../../../agent/pipeline/page-pipeline.ts';
import { parseRobots } from '../../../agent/robots/robots-txt.ts';

const TIMES = { ip: null, durationMs: 1, endedAt: 1 };
const PAGE: FetchResult = {
  ...{ kind: 'response', status: 200, headers: {}, contentType: 'text/html', bytes: 0 },
  ...{ body: new Uint8Array(0), truncated: false, skipped: null, location: null },
  ...{ retryAfterMs: null, raw: null, ...TIMES },
};
const HOLDER = {
  bytesMax: 100,
  startedAt: 0,
  onGranted: assert.fail,
  onTooSlow: assert.fail,
};
const RAW = { url: '', requestHead: '', responseHead: '', body: [], truncated: null };
const FAILURE: FetchResult = { kind: 'failure', code: 'reset', message: '', wrote: true, ...TIMES };

function pipelineOf(bodies: BodyBudget, parts: Partial<PipelineParts>, result = PAGE) {
  return new PagePipeline({
    bodies,
    fetcher: {
      fetch: async ({ account }) => {
        assert.equal(account?.reserve(100, HOLDER), true);
        return result;
      },
      close: async () => {},
    },
    parse: async (input) => parsePage(input),
    inScope: () => true,
    admits: () => true,
    isOfCrawl: () => true,
    identify: (found) => found,
    productToken: 'mybot',
    embeds: false,
    bodyBytesMax: 1000,
    sitemapsOf: (body, fileUrl) => parseRobots(body, '*', fileUrl).sitemaps,
    mayWrite: () => true,
    isForbidden: () => false,
    ...parts,
  });
}

function request(kind: PageRequest['kind'] = 'page'): PageRequest {
  const url = kind === 'page' ? 'http://a.test/' : 'http://a.test/robots.txt';
  return { id: 1, kind, host: 'a.test', url, fetchUrl: url, depth: 0, attempts: 0 };
}

test('body accounts: a body counts until it is parsed and archived', async () => {
  const bodies = new BodyBudget();
  const parsed = Promise.withResolvers<ParsedPage>();
  const archived = Promise.withResolvers<null>();
  const archive = { append: () => archived.promise, originalOf: async () => null };
  const parts = { parse: () => parsed.promise, archive };
  const run = pipelineOf(bodies, parts, { ...PAGE, raw: RAW }).run(request());
  const turn = () => new Promise(setImmediate);
  await turn();
  assert.equal(bodies.reserved, 100);
  parsed.resolve(parsePage({ body: new Uint8Array(0), contentType: null, url: 'http://a.test/' }));
  await turn();
  assert.equal(bodies.reserved, 100);
  archived.resolve(null);
  await run;
  assert.equal(bodies.reserved, 0);
});

const endings: Record<string, [Partial<PipelineParts>, FetchResult?]> = {
  'a page': [{}],
  'a failure': [{}, FAILURE],
  'a redirect': [{}, { ...PAGE, status: 301, location: '/x' }],
  'a page that kills its thread': [{ parse: () => Promise.reject(new Error('as asked')) }],
  'an archive that fails': [
    {
      archive: {
        append: () => Promise.reject(new Error('as asked')),
        originalOf: async () => null,
      },
    },
    { ...PAGE, raw: RAW },
  ],
};

for (const [what, [parts, result]] of Object.entries(endings)) {
  for (const kind of ['page', 'robots'] as const) {
    test(`body accounts: ${what} releases its reservation (${kind})`, async () => {
      const bodies = new BodyBudget();
      await pipelineOf(bodies, parts, result)
        .run(request(kind))
        .catch(() => {});
      assert.deepEqual([bodies.reserved, bodies.waiting], [0, 0]);
    });
  }
}
