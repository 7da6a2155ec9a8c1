// The comparison with other crawlers still runs, and ubiring and the bare loops fetch each page of
// its web once. docs/BENCHMARKS.md, not a test, discusses its figures.

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { finish } from './programs.ts';

const program = resolve(import.meta.dirname, '../../bench/rivals.ts');
const benchMsMax = 180_000;
const contenders = ['bare-got', 'bare-http', 'ubiring-1', 'ubiring-2-safe'];

interface Printed {
  readonly figures: readonly {
    readonly id: string;
    readonly crawls: readonly ({ readonly cpuMs: number; readonly requests: number } | null)[];
    readonly failures: readonly string[];
  }[];
}

test('rivals: ubiring and the bare loops fetch the whole web, and every crawl has its figures', {
  timeout: benchMsMax + 30_000,
}, async () => {
  const size = ['--rounds', '1', '--pages', '60', '--hosts', '6', '--install', '0', '--json'];
  const line = [program, ...size, '--only', contenders.join(',')];
  const { code, stdout, stderr } = await finish(process.execPath, line, benchMsMax);
  assert.equal(code, 0, stderr);
  const { figures } = JSON.parse(stdout) as Printed;
  assert.deepEqual(figures.map(({ id }) => id).toSorted(), contenders.toSorted());
  for (const { id, crawls, failures } of figures) {
    assert.deepEqual(failures, [], id);
    assert.equal(crawls.length, 1, id);
    assert.ok((crawls[0]?.cpuMs ?? 0) > 0, id);
    // The pages, and robots.txt of each host for crawlers that request it.
    const requests = id.startsWith('ubiring') ? 66 : 60;
    assert.equal(crawls[0]?.requests, requests, id);
  }
});
