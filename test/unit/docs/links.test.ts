import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { type Offence, readTree, type SourceText } from '../../tidy/source.ts';

const root = resolve(import.meta.dirname, '../../..');
const pages = readTree(root).filter(({ path }) => path.endsWith('.md'));

/** Links of a page to files that are not there. */
function deadLinks(page: SourceText, exists: (path: string) => boolean): Offence[] {
  return page.text.split('\n').flatMap((text, index) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target.replace(/#.*$/, ''))
      .filter((target) => target !== '' && !/^[a-z]+:/.test(target))
      .filter((target) => !exists(join(dirname(page.path), target)))
      .map((what) => ({ path: page.path, line: index + 1, what })),
  );
}

/** Files of this repository that a page names in backquotes. */
function filesNamed({ text }: SourceText): string[] {
  const named = text.matchAll(
    /`((?:agent|assignment|config|docs|failure-detector|test)\/[^`\s]*)`/g,
  );
  return [...named].map(([, path = '']) => path).filter((path) => !/[*{<]|NNNN/.test(path));
}

describe('documents', () => {
  it('link only to files that exist', () => {
    assert.ok(pages.length > 10);
    const exists = (path: string) => existsSync(join(root, path));
    assert.deepEqual(
      pages.flatMap((page) => deadLinks(page, exists)),
      [],
    );
  });

  it('a dead link is found, with its line', () => {
    const text =
      'see\n[this](docs/A.md#part), [that](docs/B.md) and [the net](https://example.org/)';
    assert.deepEqual(
      deadLinks({ path: 'README.md', text }, (path) => path === 'docs/A.md'),
      [{ path: 'README.md', line: 2, what: 'docs/B.md' }],
    );
  });

  it('name only files that exist', () => {
    const missing = pages.flatMap((page) =>
      filesNamed(page)
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${page.path}: ${path}`),
    );
    assert.deepEqual(missing, []);
  });

  it('ARCHITECTURE links every decision, and they are numbered without a gap', () => {
    const records = readdirSync(join(root, 'docs/adr')).sort();
    assert.deepEqual(
      records.map((name) => Number(name.slice(0, 4))),
      records.map((_, index) => index + 1),
    );
    const architecture = pages.find(({ path }) => path === 'docs/ARCHITECTURE.md');
    const unlinked = records.filter((name) => !architecture?.text.includes(`(adr/${name})`));
    assert.deepEqual(unlinked, []);
  });
});
