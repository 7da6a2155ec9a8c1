import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { type Offence, readTree, type SourceText } from '../../tidy/source.ts';

const root = resolve(import.meta.dirname, '../../..');
const pages = readTree(root).filter(({ path }) => path.endsWith('.md'));

/** Links of a page to files that do not exist. */
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

  it('the check reports a dead link with its line', () => {
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

  it('the index of decisions links every record once, in order', () => {
    const isRecord = (name: string) => name !== 'README.md';
    const records = readdirSync(join(root, 'docs/adr')).filter(isRecord).sort();
    assert.equal(new Set(records.map((name) => name.slice(0, 4))).size, records.length);
    const index = pages.find(({ path }) => path === 'docs/adr/README.md');
    const linked = index?.text.matchAll(/^- \[(\d\d)\]\((.*?)\) /gm) ?? [];
    assert.deepEqual(
      [...linked].map(([, number, name]) => [number, name]),
      records.map((name) => [name.slice(2, 4), name]),
    );
  });

  it('a record of a decision has a title with its number, and four parts', () => {
    const records = pages.filter(({ path }) => /^docs\/adr\/\d/.test(path));
    assert.ok(records.length > 10);
    const shape =
      /^# (\d\d) .+\n\n\*\*Context\.\*\* .+\n\n\*\*Decision\.\*\* .+\n\n\*\*Alternatives\.\*\* .+\n\n\*\*Consequences\.\*\* .+\n$/;
    const odd = records.filter(
      ({ path, text }) => text.match(shape)?.[1] !== basename(path).slice(2, 4),
    );
    assert.deepEqual(
      odd.map(({ path }) => path),
      [],
    );
  });
});
