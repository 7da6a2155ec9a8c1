// Tests that the file that docs/NETWORKS.md makes of lost URLs has one URL in each line.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { formatRows } from '../../../agent/cli/query/query-format.ts';

it('the list of lost URLs has no quotes and no column title', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/NETWORKS.md'), 'utf8');
  const filter = /--format csv \\\n +\| (.*) > lost\.txt$/m.exec(page)?.[1];
  assert.ok(filter);
  const urls = ['http://h.test/x,1', 'http://h.test/y'];
  const rows = urls.map((url) => [url]);
  const input = [...formatRows('csv', ['url'], rows, null)].join('');
  assert.match(input, /"http/);
  const output = execFileSync('sh', ['-c', filter], { input, encoding: 'utf8' });
  assert.equal(output, urls.map((url) => `${url}\n`).join(''));
});
