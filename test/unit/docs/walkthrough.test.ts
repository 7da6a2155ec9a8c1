// Tests that the functions in docs/WALKTHROUGH.md exist in the files that it names.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');
const step = /^\d+\. `([^`]+)` `([^`]+)`: /;

/** Whether a source declares a function, method or class of that name. */
function declares(source: string, name: string): boolean {
  const plain = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const method = new RegExp(`^ +(async )?${plain}(<[^>]*>)?\\(`, 'm');
  const top = new RegExp(`^(export )?(async )?(function|class) ${plain}\\b`, 'm');
  return method.test(source) || top.test(source);
}

it('WALKTHROUGH names functions that their files declare', () => {
  const steps = readFileSync(join(root, 'docs/WALKTHROUGH.md'), 'utf8')
    .split('\n')
    .flatMap((line) => [step.exec(line)].filter((found) => found !== null));
  assert.ok(steps.length > 30);
  const wrong = steps
    .map(([, file = '', name = '']) => ({ file: join(root, file), name }))
    .filter(({ file, name }) => !existsSync(file) || !declares(readFileSync(file, 'utf8'), name));
  assert.deepEqual(wrong, []);
});

it('a function that the source only calls does not count as declared', () => {
  const source = 'export class A {\n  #run(): void {\n    this.stop();\n  }\n}\nfunction f() {}\n';
  for (const name of ['A', '#run', 'f']) assert.ok(declares(source, name), name);
  for (const name of ['stop', 'run', 'B']) assert.ok(!declares(source, name), name);
});
