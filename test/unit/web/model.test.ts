// Tests the model of the synthetic web and its answers, without a server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TextDecoder } from '@exodus/bytes/encoding.js';
import fc from 'fast-check';
import robotsModule from 'robots-parser';
import { answerOf } from '../../web/answer.ts';
import { SyntheticWeb } from '../../web/model.ts';
import { hostsMax, optionsFromArguments, type Shares } from '../../web/options.ts';
import { charsets, wordsOf } from '../../web/words.ts';

// The types describe an ES module, but the package is a CommonJS module that exports the function
// itself.
const robotsParser = robotsModule as unknown as typeof robotsModule.default;

const text = (body: Uint8Array) => Buffer.from(body).toString('utf8');

function* pagesOf(web: SyntheticWeb): Generator<[host: number, page: number]> {
  for (let i = 0; i < web.options.hosts; i++) {
    for (let k = 0; k < web.size(i); k++) yield [i, k];
  }
}

describe('model', () => {
  it('the same seed makes the same web, another seed another', () => {
    const all = (seed: number) => {
      const web = new SyntheticWeb({ seed, hosts: 8, pages: 12 });
      return [...pagesOf(web)].map(([i, k]) => text(answerOf(web, i, web.path(i, k), 1).body));
    };
    assert.deepEqual(all(5), all(5));
    assert.notDeepEqual(all(5), all(6));
  });

  it('sizes are skewed around the configured mean', () => {
    const web = new SyntheticWeb({ hosts: 2_000, pages: 100 });
    const sizes = Array.from({ length: 2_000 }, (_, i) => web.size(i));
    const mean = sizes.reduce((sum, size) => sum + size) / sizes.length;
    assert.ok(Math.abs(mean - 100) < 10, `mean ${mean}`);
    assert.equal(Math.min(...sizes), 10);
    assert.equal(Math.max(...sizes), 300);
  });

  it('bodies have the configured mean size', () => {
    const web = new SyntheticWeb({ hosts: 20, pages: 50, bodyBytes: 20_000 });
    const bytes = [...pagesOf(web)]
      .filter(([i, k]) => web.kind(i, k) === 'plain')
      .map(([i, k]) => answerOf(web, i, web.path(i, k), 1).body.byteLength);
    const mean = bytes.reduce((sum, size) => sum + size) / bytes.length;
    assert.ok(Math.abs(mean - 20_000) < 2_500, `mean ${mean}`);
  });

  it('each kind of leaf has the configured share', () => {
    const shares = { missing: 0.1, gone: 0.05, broken: 0.05, private: 0.2, binary: 0.1 };
    const web = new SyntheticWeb({ hosts: 100, pages: 100, shares });
    const leaves = [...pagesOf(web)].filter(([i, k]) => !web.inner(i, k));
    for (const [kind, share] of Object.entries(shares)) {
      const seen = leaves.filter(([i, k]) => web.kind(i, k) === kind).length / leaves.length;
      assert.ok(Math.abs(seen - share) < share * 0.2, `${kind}: ${seen}`);
    }
  });

  it('each host has exactly one address', () => {
    const web = new SyntheticWeb({ hosts: hostsMax });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: hostsMax - 1 }), (i) => {
        assert.equal(web.hostOf(web.address(i)), i);
      }),
    );
    for (const other of ['127.0.0.1', '127.9.0.1', '127.8.0.0', '127.8.0.255', '::1', '']) {
      assert.equal(web.hostOf(other), -1, other);
    }
    assert.equal(new SyntheticWeb({ hosts: 3 }).hostOf('127.8.0.4'), -1);
  });

  it('every link leads to a place, even if its escapes are spelled differently', () => {
    const web = new SyntheticWeb({ hosts: 20, pages: 40, trap: 'open' });
    for (const [i, k] of pagesOf(web)) {
      for (const { host, path } of web.links(i, k)) {
        const place = web.place(host, path);
        assert.notEqual(place, null, path);
        const escaped = path.replace(/[ph](?=\d)/, (c) => `%${c.charCodeAt(0).toString(16)}`);
        assert.deepEqual(web.place(host, escaped), place);
      }
    }
  });

  it('a path that no page links to is not a place, whatever it looks like', () => {
    const web = new SyntheticWeb({ hosts: 5, pages: 40 });
    const known = new Set(
      [...pagesOf(web)].flatMap(([i, k]) =>
        [web.path(i, k), web.entry(i, k), `/hidden/p${k}.html`].map((path) => `${i}${path}`),
      ),
    );
    const part = fc.constantFrom(
      ...['/', 'd1', 'p', '1', '07', '3', '9999999', '.html', '.png', 'list?dir=2&page='],
      ...['private', 'files', 'go', 'wait', 'out/h', 'hidden', 'trap', '?', '%', '%zz', '%2e'],
    );
    fc.assert(
      fc.property(fc.integer({ min: -1, max: 6 }), fc.array(part), (i, parts) => {
        const place = web.place(i, `/${parts.join('')}`);
        const path = `/${parts.join('')}`.replaceAll('%2e', '.');
        if (place === null || path === '/robots.txt' || place.kind === 'door') return;
        assert.ok(known.has(`${i}${path}`), `${i} ${path} is ${place.kind}`);
      }),
      { numRuns: 2_000 },
    );
  });

  it('robots.txt forbids only private pages, to every crawler', () => {
    const web = new SyntheticWeb({ hosts: 60, pages: 20, shares: { private: 0.3 } });
    const seen = new Set<string>();
    for (const [i, k] of pagesOf(web)) {
      const body = text(answerOf(web, i, '/robots.txt', 0).body);
      if (!web.hasRobots(i)) continue;
      seen.add(body);
      const robots = robotsParser(`${web.origin(i)}/robots.txt`, body.replace('\uFEFF', ''));
      const allowed = robots.isAllowed(web.origin(i) + web.path(i, k), 'any-bot');
      assert.equal(allowed, web.kind(i, k) !== 'private', `${body} ${web.path(i, k)}`);
    }
    assert.equal(seen.size, 5, 'all variants of robots.txt occurred');
  });

  it('bodies are in the encoding that they declare', () => {
    const web = new SyntheticWeb({ hosts: 20, pages: 40, shares: { charset: 0.8 } });
    const seen = new Set<string>();
    for (const [i, k] of pagesOf(web)) {
      const { body, headers } = answerOf(web, i, web.path(i, k), 1);
      if (body.byteLength < 1_600) continue;
      const ascii = Buffer.from(body).toString('latin1');
      const said = /charset="?([\w-]+)/.exec(`${headers['content-type']} ${ascii}`)?.[1];
      if (said === undefined) continue;
      seen.add(said);
      const decoded = new TextDecoder(said, { fatal: true }).decode(body);
      assert.ok(decoded.includes('ring host frontier'));
    }
    assert.deepEqual([...seen].sort(), ['utf-8', ...charsets].sort());
    assert.ok(
      wordsOf('shift_jis').some((word) => word.includes('\\')),
      'a character whose second byte is 0x5C',
    );
  });

  it('only the first request to a flaky page is deferred', () => {
    const web = new SyntheticWeb({ shares: { flaky: 0.5 }, retryAfterS: 2 });
    const [i, k] = [...pagesOf(web)].find(([host, page]) => web.kind(host, page) === 'flaky')!;
    const first = answerOf(web, i, web.path(i, k), 0);
    assert.equal(first.status, 503);
    assert.equal(first.headers['retry-after'], '2');
    assert.equal(answerOf(web, i, web.path(i, k), 1).status, 200);
  });
});

describe('options', () => {
  it('invalid options are refused by name', () => {
    const kinds: Partial<Shares> = { missing: 0.6, gone: 0.6 };
    assert.throws(() => new SyntheticWeb({ hosts: 0 }), /hosts/);
    assert.throws(() => new SyntheticWeb({ hosts: hostsMax + 1 }), /hosts/);
    assert.throws(() => new SyntheticWeb({ pages: 1.5 }), /pages/);
    assert.throws(() => new SyntheticWeb({ shares: { slow: 2 } }), /slow/);
    assert.throws(() => new SyntheticWeb({ shares: kinds }), /add up/);
  });

  it('the command line gives the same options as code', () => {
    const line = '--hosts 3 --links 5 --slow-ms 7 --sparse --trap open --share gone=0.5 --log f';
    assert.deepEqual(optionsFromArguments(line.split(' ')), {
      ...{ log: 'f', help: false },
      web: {
        ...{ hosts: 3, linksPerPage: 5, slowMs: 7, sparse: true, trap: 'open', tls: false },
        shares: { gone: 0.5 },
      },
    });
    assert.throws(() => optionsFromArguments(['--hosts', 'many']), /--hosts/);
    assert.throws(() => optionsFromArguments(['--share', 'odd=1']), /--share/);
    assert.throws(() => optionsFromArguments(['--host', '3']), /--host/);
  });
});
