import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { barChart } from '../../../bench/chart.ts';
import {
  bySpeed,
  comparisonTable,
  pageTables,
  type Series,
  speedOver,
  targetTable,
} from '../../../bench/comparison.ts';
import { markdownTable, replaceSection } from '../../../bench/report.ts';

/** `cpu`: processor milliseconds per round; null if there is no figure. */
function series(id: string, cpu: readonly (number | null)[]): Series {
  const rest = { startCpuMs: 100, seconds: 2, rssBytesMax: 2 ** 20, requests: 10, load: 1 };
  const crawls = cpu.map((cpuMs) => (cpuMs === null ? null : { cpuMs, ...rest }));
  return { id, title: `the ${id}`, keeps: 'nothing', crawls, failures: [] };
}

describe('bench: comparison', () => {
  it('bench: half the processor time is twice the speed', () => {
    assert.deepEqual(speedOver(series('fast', [500]), series('slow', [1000])), [2]);
  });

  it('bench: compares crawls of the same round, and skips rounds that lack a figure', () => {
    const fast = series('fast', [500, null, 100]);
    const slow = series('slow', [1000, 1000, 300]);
    assert.deepEqual(speedOver(fast, slow), [2, 3]);
    assert.deepEqual(speedOver(fast, undefined), []);
  });

  it('bench: sorts the fastest series first, and series without figures last', () => {
    const all = [series('none', [null]), series('slow', [9]), series('fast', [1])];
    assert.deepEqual(
      bySpeed(all, 10).map(({ id }) => id),
      ['fast', 'slow', 'none'],
    );
  });

  it('bench: reports the time per page also without the time of a one-page crawl', () => {
    const { rows } = comparisonTable([series('bare-got', [1000])], 11);
    assert.deepEqual(rows[0]?.slice(2, 6), ['90.91', '90.00', '1.00', '6']);
  });

  it('bench: reports a missed target, and omits a target whose rival was not measured', () => {
    const { rows } = targetTable([
      series('ubiring-1', [1000]),
      series('bare-got', [700]),
      series('scrapy', [12_000]),
    ]);
    assert.deepEqual(
      rows.map((row) => row.slice(1)),
      [
        ['0.70', '0.80', 'missed'],
        ['12.00', '10.00', 'holds'],
      ],
    );
  });

  it('bench: a page shows medians, and the target beside each rival', () => {
    const all = [series('ubiring-1', [1000, 1200, 900]), series('scrapy', [12_000, null, 10_800])];
    const [own, others] = pageTables(all, 10);
    assert.deepEqual(own?.rows, [['the ubiring-1', '100.00', '5', '1', '-']]);
    assert.deepEqual(others?.rows, [['the scrapy', '1140.00', '5', '1', '12.00', '-', '10.00']]);
  });
});

describe('bench: report formats', () => {
  it('bench: a chart scales each bar with its figure, and escapes names for XML', () => {
    const bar = { value: 50, least: 40, most: 100, isOwn: false };
    const svg = barChart('a < b', [
      { ...bar, title: 'x & y' },
      { ...bar, title: 'own', value: 100, isOwn: true },
    ]);
    const lengths = [...svg.matchAll(/<rect class="(\w+)".* width="([\d.]+)"/g)];
    assert.deepEqual(
      lengths.map(([, kind, length]) => [kind, Number(length)]),
      [
        ['other', 240],
        ['own', 480],
      ],
    );
    assert.match(svg, /x &amp; y/);
    assert.match(svg, /a &lt; b/);
  });

  it('bench: replaces a section of a page, and refuses a page without it', () => {
    const page = 'before\n<!-- x -->\nold\n<!-- end of x -->\nafter\n';
    assert.equal(
      replaceSection(page, 'x', 'new'),
      'before\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nafter\n',
    );
    assert.throws(() => replaceSection('before\n', 'x', 'new'), /no section x/);
  });

  it('bench: prints the title of a Markdown table above it', () => {
    const table = { title: 'All:', columns: ['a', 'b'], rows: [['1', '2']] };
    assert.equal(markdownTable(table), 'All:\n\n| a | b |\n|---|---|\n| 1 | 2 |');
  });
});
