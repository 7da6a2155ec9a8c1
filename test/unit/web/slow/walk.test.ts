// Tests that the synthetic web matches its model, by walking it without knowledge of the model.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerOf } from '../../../web/answer.ts';
import { SyntheticWeb } from '../../../web/model.ts';
import type { PartialWebOptions } from '../../../web/options.ts';
import { type Got, type WalkRules, walk } from '../walk.ts';

async function walkModel(options: PartialWebOptions, rules: (web: SyntheticWeb) => WalkRules) {
  const web = new SyntheticWeb(options);
  const get = (url: URL): Got =>
    answerOf(web, web.hostOf(url.hostname), url.pathname + url.search, 1);
  return { web, ...(await walk(`${web.origin(0)}/`, get, rules(web))) };
}

/** The rules of a polite walk: it avoids traps, and private pages if the host has a robots.txt. */
function polite(web: SyntheticWeb): WalkRules {
  return {
    allows: ({ hostname, pathname }) =>
      !/^\/(private|trap)\//.test(pathname) || !web.hasRobots(web.hostOf(hostname)),
  };
}

const webs: readonly { id: string; options: PartialWebOptions }[] = [
  { id: 'sparse', options: { sparse: true, seed: 3 } },
  { id: 'dense', options: { sparse: false, seed: 4 } },
  { id: 'one host of one page', options: { hosts: 1, pages: 1 } },
  { id: 'many hosts of one page', options: { hosts: 600, pages: 1, sparse: true } },
  { id: 'a disallowed trap', options: { hosts: 20, pages: 20, trap: 'disallowed' } },
  {
    id: 'awkward throughout',
    options: {
      hosts: 15,
      pages: 60,
      sparse: true,
      shares: {
        ...{ charset: 1, base: 1, redirect: 0.5, refresh: 0.5, crossRedirect: 1, flaky: 0.3 },
        ...{ nofollow: 0.3, private: 0.3, broken: 0.1, missing: 0, gone: 0, binary: 0, slow: 0 },
      },
    },
  },
];

describe('synthetic web', () => {
  for (const { id, options } of webs) {
    it(`${id}: a polite walk over the HTML visits exactly the expected pages`, async () => {
      const { web, visited } = await walkModel(options, polite);
      const { must, never } = web.expected();
      assert.deepEqual(
        [...must].filter((url) => !visited.has(url)),
        [],
      );
      assert.deepEqual(
        [...visited].filter((url) => never.has(url)),
        [],
      );
      const rest = [...visited].filter((url) => !must.has(url)).map((url) => new URL(url));
      for (const { hostname, pathname, search } of rest) {
        assert.equal(web.verdict(web.hostOf(hostname), pathname + search), 'may', pathname);
      }
    });

    it(`${id}: a walk that ignores the rules finds the pages that must never be requested`, async () => {
      const everything = { nofollowToo: true, urlsMax: 20_000 };
      const { web, visited } = await walkModel(options, () => everything);
      const { never } = web.expected();
      assert.deepEqual(
        [...never].filter((url) => !visited.has(url)),
        [],
      );
    });
  }

  it('sparse: each URL except the first is linked from exactly one page', async () => {
    const { web, visited, referrers } = await walkModel({ sparse: true, pages: 60 }, polite);
    const { must } = web.expected();
    assert.equal(referrers.has(`${web.origin(0)}/`), false);
    for (const url of visited) {
      if (url !== `${web.origin(0)}/`) assert.equal(referrers.get(url)?.size, 1, url);
    }
    assert.ok(must.size > 2_000, `${must.size} URLs make the claim`);
  });

  it('dense: most URLs are linked from several pages, some of them on other hosts', async () => {
    const { visited, referrers } = await walkModel({ sparse: false }, polite);
    const many = [...visited].filter((url) => (referrers.get(url)?.size ?? 0) > 1);
    assert.ok(many.length > visited.size * 0.7, `${many.length} of ${visited.size}`);
    const hosts = (url: string) =>
      new Set([...(referrers.get(url) ?? [])].map((from) => new URL(from).hostname)).size;
    assert.ok(many.some((url) => hosts(url) > 1));
  });

  it('an open trap is endless', async () => {
    const { visited, web } = await walkModel({ hosts: 1, pages: 1, trap: 'open' }, () => ({
      urlsMax: 500,
    }));
    assert.equal(visited.size, 500);
    assert.equal(web.verdict(0, '/trap/120'), 'may');
  });
});
