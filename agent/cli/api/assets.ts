// The files of the dashboard: its own, and those of the libraries htm and uPlot. All are read at the
// start, so no request can name another file.

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
  readonly tag: string;
}

const OWN = [
  ...['index.html', 'dashboard.css', 'dashboard.js', 'api.js', 'circle.js', 'charts.js'],
  ...[
    'tables.js',
    'controls.js',
    'format.js',
    'lookup.js',
    'moves.js',
    'replay.js',
    'trie.js',
    'icon.svg',
  ],
];
const LIBRARIES = {
  'htm.js': ['htm', 'preact/standalone.module.js'],
  'uplot.js': ['uplot', 'dist/uPlot.iife.min.js'],
  'uplot.css': ['uplot', 'dist/uPlot.min.css'],
} as const;
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** By path. */
export function readAssets(): ReadonlyMap<string, Asset> {
  const folder = fileURLToPath(new URL('../../dashboard', import.meta.url));
  const assets = new Map<string, Asset>();
  for (const name of OWN) {
    const file = path.join(folder, name);
    assets.set(`/${name}`, assetOf(file, Buffer.from(compact(file))));
  }
  const { resolve } = createRequire(import.meta.url);
  for (const [name, [library, file]] of Object.entries(LIBRARIES)) {
    const root = rootOf(resolve(library), library);
    assets.set(`/lib/${name}`, assetOf(path.join(root, file)));
  }
  assets.set('/', assets.get('/index.html')!);
  return assets;
}

/** The folder of a package, from the path of one of its files. */
function rootOf(file: string, library: string): string {
  const end = `${path.sep}node_modules${path.sep}${library}`;
  return file.slice(0, file.lastIndexOf(end) + end.length);
}

/**
 * Without indentation, the comments that begin a line, and spaces that neither code nor text needs: an
 * eighth less to load.
 */
function compact(file: string): string {
  const text = readFileSync(file, 'utf8');
  const code = text.replaceAll(/^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)$/gm, '');
  const lines = code.replaceAll(/^\s+/gm, '');
  if (file.endsWith('.css')) return lines.replaceAll(/(?<=[{};,])\n| (?=\{)|(?<=:) /g, '');
  return lines.replaceAll(/(?<=[{;])\n/g, '').replaceAll(/ (=>|===|&&) /g, '$1');
}

function assetOf(file: string, body = readFileSync(file)): Asset {
  const type = TYPES[path.extname(file)]!;
  const tag = `"${hash('sha256', body).slice(0, 16)}"`;
  return { type, body, gzipped: gzipSync(body), tag };
}
