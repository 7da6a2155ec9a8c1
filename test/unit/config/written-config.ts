// Writes a config into its own directory and loads it, for the tests of this folder. The directory
// is removed when the tests end.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import type { Config } from '../../../config/config.ts';
import { type LoadOptions, loadConfig } from '../../../config/file/load.ts';
import { type ConfigProblem, formatProblems } from '../../../config/file/problem.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-config-'));
after(() => fs.rmSync(root, { recursive: true, force: true }));

/** A new directory inside the one that is removed at the end. */
export function newDirectory(): string {
  return fs.mkdtempSync(path.join(root, 'd-'));
}

/** Loads `text` as `crawl.yaml` beside the given other files. */
export function load(
  text: string,
  options: Partial<LoadOptions> & { files?: Record<string, string> } = {},
) {
  const cwd = newDirectory();
  for (const [name, content] of Object.entries(options.files ?? {})) {
    fs.writeFileSync(path.join(cwd, name), content);
  }
  fs.writeFileSync(path.join(cwd, 'crawl.yaml'), text);
  return loadConfig('crawl.yaml', { cwd, ...options });
}

/** The config, which must be valid. */
export function good(text: string, options?: Parameters<typeof load>[1]): Config {
  const loaded = load(text, options);
  if (!loaded.ok) throw new Error(`refused:\n${formatProblems(loaded.problems)}`);
  return loaded.config;
}

/** The problems of a config, which must be invalid. */
export function bad(text: string, options?: Parameters<typeof load>[1]): readonly ConfigProblem[] {
  const loaded = load(text, options);
  if (loaded.ok) throw new Error('accepted');
  return loaded.problems;
}

/** The only problem of a config. */
export function onlyProblem(text: string, options?: Parameters<typeof load>[1]): ConfigProblem {
  const problems = bad(text, options);
  if (problems.length !== 1) throw new Error(`not one problem:\n${formatProblems(problems)}`);
  return problems[0]!;
}

/** The warnings of a config, which must be valid. */
export function warningsOf(text: string): readonly string[] {
  const loaded = load(text);
  if (!loaded.ok) throw new Error(`refused:\n${formatProblems(loaded.problems)}`);
  return loaded.warnings;
}

/** The smallest config without warnings; it therefore names a contact. */
export const plain = `seeds: [https://example.org/]
http: { userAgent: "t (+https://example.org/bot)" }
`;
