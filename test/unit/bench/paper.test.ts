import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { Ring } from '../../../assignment/ring.ts';
import { stackCharts } from '../../../bench/chart.ts';
import {
  balance,
  coverageAndOverlap,
  expectedBalance,
  expectedSent,
  foreignLinks,
  steadyRate,
} from '../../../bench/paper-measures.ts';
import { chartsOf } from '../../../bench/paper-part.ts';
import { crawlSimulated } from '../../../bench/simulated-crawl.ts';

describe('bench: the measures of UbiCrawler', () => {
  it('bench: a complete crawl without repetition has coverage 1 and overlap 0', () => {
    assert.deepEqual(coverageAndOverlap(3, [1, 1, 1]), { coverage: 1, overlap: 0 });
  });

  it('bench: overlap counts repetitions over distinct pages, coverage only distinct pages', () => {
    assert.deepEqual(coverageAndOverlap(8, [3, 1, 1, 1, 0]), { coverage: 0.5, overlap: 0.5 });
    assert.deepEqual(coverageAndOverlap(8, []), { coverage: 0, overlap: 0 });
  });

  it('bench: balance is 0 if each agent has what its capacity deserves', () => {
    assert.equal(balance([10, 20, 10], [1, 2, 1]), 0);
    assert.equal(balance([1, 3], [1, 1]), 0.5);
  });

  it('bench: the expected balance is that of real rings, with equal and unequal capacities', () => {
    const sha256 = (text: string) => createHash('sha256').update(text).digest();
    for (const capacities of [
      [1, 1, 1, 1, 1, 1],
      [1, 2, 4],
    ]) {
      const squares = Array.from({ length: 60 }, (_, set) => {
        const members = capacities.map((capacity, k) => ({ id: `${set} ${k}`, capacity }));
        const shares = new Ring(members, { replicas: 50, sha256 }).shares();
        return (
          balance(
            members.map(({ id }) => shares.get(id) ?? 0),
            capacities,
          ) ** 2
        );
      });
      const mean = Math.sqrt(squares.reduce((s, one) => s + one, 0) / squares.length);
      const ratio = mean / expectedBalance(50, capacities);
      assert.ok(ratio > 0.85 && ratio < 1.15, `${capacities}: ${ratio}`);
    }
  });

  it('bench: with few hosts, the draw of the hosts outweighs the ring', () => {
    const equal = [1, 1, 1, 1];
    assert.equal(expectedBalance(Number.POSITIVE_INFINITY, equal, 300), 0.1);
    assert.ok(expectedBalance(200, equal, 300) > expectedBalance(200, equal));
  });

  it('bench: a link counts as foreign once a page, and the root is linked everywhere', () => {
    const web = new Map([
      ['http://a/1', ['http://a/2', 'http://b/1', 'http://b/1']],
      ['http://b/1', []],
    ]);
    assert.deepEqual(foreignLinks(web, 'http://a/1'), { links: 1, share: 0.5 });
  });

  it('bench: one agent sends no URL, and many send nearly every foreign link', () => {
    assert.deepEqual([expectedSent(4, 1), expectedSent(4, 2), expectedSent(4, 4)], [0, 2, 3]);
  });

  it('bench: the rate is that of the middle, even if the crawl was stopped after it', () => {
    const ends = Array.from({ length: 101 }, (_, k) => (k < 20 ? k : 20 + (k - 20) * 10));
    assert.equal(steadyRate(ends.toReversed(), 101), 100);
    assert.equal(steadyRate(ends.slice(0, 65), 101), 100);
    assert.ok(Number.isNaN(steadyRate(ends.slice(0, 50), 101)));
  });
});

describe('bench: simulated crawls', () => {
  it('bench: a simulated cluster sends each URL at most once for each link to another host', () => {
    const size = { agents: 3, hosts: 3, pages: 4, links: 2, nearLinks: 1, backups: 1, seed: 1 };
    const { web, root, urlsSent, impolite } = crawlSimulated(size);
    assert.equal(web.size, 36);
    assert.ok(urlsSent > 0 && urlsSent <= foreignLinks(web, root).links * web.size, `${urlsSent}`);
    assert.equal(impolite, 0);
  });
});

describe('bench: charts of the paper', () => {
  it('bench: charts are placed below each other, with decimals where they matter', () => {
    const bars = [{ title: 'x', value: 1.234, isOwn: true }];
    const svg = chartsOf([
      { title: 'one', digits: 2, bars },
      { title: 'two', digits: 0, bars },
    ]);
    const [, first, second] = [...svg.matchAll(/<svg (?:y="(\d+)")?/g)].map(([, y]) => y);
    assert.deepEqual([first, second], ['0', '90']);
    assert.match(svg, />1\.23<[\s\S]*>1</);
    assert.match(stackCharts('none', []), / height="0"/);
  });
});
