import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { configKeys } from '../../../config/keys/json-schema.ts';
import { configPage, configPagePath } from '../../docs/config-page.ts';

describe('docs/CONFIG.md', () => {
  it('matches the schema: run npm run docs after changing the schema', () => {
    assert.equal(readFileSync(configPagePath, 'utf8'), configPage(configKeys()));
  });

  it('lists every key with its default, and an example where one is needed', () => {
    const page = configPage([
      { path: 'name', description: 'What it is called.', default: 'crawl', section: false },
      { path: 'limits', description: 'Where it ends.', section: true },
      { path: 'limits.pages', description: 'How many.', default: null, example: 7, section: false },
      { path: 'limits.type', description: 'Which.', default: null, example: 'a/b', section: false },
      {
        path: 'limits.wait',
        description: 'How long.',
        default: 1000,
        example: '2s',
        section: false,
      },
    ]);
    assert.deepEqual(
      page.split('\n').filter((line) => line.startsWith('- ')),
      [
        '- `name` (`crawl`): What it is called.',
        '- `limits.pages` (`null`): How many.',
        '- `limits.type` (`null`): Which. Example: `a/b`.',
        '- `limits.wait` (`1000`): How long.',
      ],
    );
    assert.match(page, /\n## `limits`\n\n- `limits\.pages`/);
  });

  it('describes every key', () => {
    const silent = configKeys().filter(({ description }) => description === '');
    assert.deepEqual(
      silent.map(({ path }) => path),
      [],
    );
  });
});
