// The files of the dashboard.

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
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
  assert.match(css, /^:root\{color-scheme:light dark;/);
  assert.match(css, /\}\*\{box-sizing:border-box;\}/, 'a selector is no comment');
  const script = readAssets().get('/api.js')!.body.toString();
  assert.doesNotMatch(script, /^(\s|\/\/|\/?\*)/m);
  assert.match(script, /^const API = '\/api\/v1';/m);
});

/** Stands for the library of the browser: what a part draws is the values of its template. */
const LIBRARY = `data:text/javascript,${encodeURIComponent(`
  export const html = (_, ...values) => values;
  export const useEffect = () => {};
  export const useMemo = (make) => make();
  export const useRef = () => ({ current: null });
  export const useState = (first) => [first, () => {}];
`)}`;

interface Column {
  readonly title: string;
  readonly of: (row: object) => unknown;
}

it('a host with pages, whose last request is not known after a move, is not called unvisited', async () => {
  const hooks = registerHooks({
    resolve: (name, context, next) =>
      name === '/lib/htm.js' ? { url: LIBRARY, shortCircuit: true } : next(name, context),
  });
  const file = new URL('../../../../agent/dashboard/tables.js', import.meta.url).href;
  const { Hosts } = await import(file);
  hooks.deregister();
  const drawn: unknown[] = Hosts({ view: { at: 5000, agents: [] }, filters: {} });
  const isColumns = (value: unknown): value is Column[] =>
    Array.isArray(value) && value.some((one) => one?.title === 'Last request');
  const { of } = drawn.find(isColumns)!.find(({ title }) => title === 'Last request')!;
  assert.equal(of({ last_fetch_at: 3000, pages_done: 1 }), '2 s ago');
  assert.equal(of({ last_fetch_at: null, pages_done: 1 }), '–');
  assert.equal(of({ last_fetch_at: null, pages_done: 0 }), 'never');
});
