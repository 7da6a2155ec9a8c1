// The files of the dashboard.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readAssets } from '../../../../agent/cli/api/assets.ts';

const BYTES_MAX = 150_000;

it('the dashboard is small, and every file that it names is served', () => {
  const assets = readAssets();
  const files = new Map([...assets].filter(([path]) => path !== '/'));
  const bytes = [...files.values()].reduce((sum, { body }) => sum + body.length, 0);
  assert.ok(bytes <= BYTES_MAX, `${bytes} bytes`);
  for (const [path, { body }] of files) {
    if (path.startsWith('/lib/')) continue;
    for (const [, named] of body
      .toString()
      .matchAll(/(?:from|src=|href=)\s*["'](\.?\/[\w./-]+)["']/g)) {
      assert.ok(assets.has(named!.replace(/^\.\//, '/')), `${path} names ${named}`);
    }
  }
});
