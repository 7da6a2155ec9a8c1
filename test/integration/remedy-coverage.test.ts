// Every remedy in a message of the product is tested: each text that tells a person what to do must
// be in the tables of test/operations/, whose situations CI plays.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { noRemedies, triedElsewhere, untried } from '../operations/remedy-coverage.ts';
import { remedyTexts } from '../operations/remedy-texts.ts';
import { situations } from '../operations/situations.ts';

const root = path.resolve(import.meta.dirname, '../..');
const texts = remedyTexts(root).map(({ path: file, text }) => `${file}: ${text}`);
const tried = [
  ...situations.flatMap(({ says }) => says),
  ...triedElsewhere.map(({ says }) => says),
];
const known = [...tried, ...[...untried, ...noRemedies].map(([says]) => says)];

test('remedies: each remedy in the source is tried or listed as untried', () => {
  const unknown = texts.filter((text) => {
    // The tests in test/unit/config/ cover the messages about an invalid config.
    if (text.startsWith('config/') && !text.startsWith('config/file/ports.ts')) return false;
    return !known.some((says) => text.includes(says));
  });
  assert.deepEqual(unknown, []);
});

test('remedies: each entry of the tables is in the source', () => {
  const stale = known.filter((says) => !texts.some((text) => text.includes(says)));
  assert.deepEqual(stale, []);
});

test('remedies: the tests that the table cites exist', () => {
  const missing = triedElsewhere.filter(({ by: [file, name] }) => {
    return !fs.readFileSync(path.join(root, file), 'utf8').includes(name);
  });
  assert.deepEqual(missing, []);
});
