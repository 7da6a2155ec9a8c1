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

it('a file is served without indentation and comments, and says the same', () => {
  const css = readAssets().get('/dashboard.css')!.body.toString();
  assert.match(css, /^:root \{\ncolor-scheme: light dark;\n/);
  assert.match(css, /^\* \{\nbox-sizing: border-box;\n\}/m, 'a selector is no comment');
  const script = readAssets().get('/api.js')!.body.toString();
  assert.doesNotMatch(script, /^(\s|\/\/|\/?\*)/m);
  assert.match(script, /^const API = '\/api\/v1';$/m);
});
