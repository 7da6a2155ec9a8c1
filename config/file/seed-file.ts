// Reads seed files: one URL per line. Blank lines and lines that start with `#` are ignored; a `#`
// later in a line is part of the URL. A file is read as a whole, because each agent needs all seeds
// before it can be idle.

import { seedProblem } from '../values/seed.ts';
import type { ConfigProblem } from './problem.ts';
import { readText } from './read-text.ts';

/** Bytes of a file: about 60 for each of the allowed seeds. */
const seedFileBytesMax = 64 * 1024 ** 2;
/** All seeds are in memory. A larger crawl should start with sitemaps or pages of links. */
export const seedsMax = 1_000_000;
/** Problems of one file: if it is not a list of URLs, every line is invalid. */
const problemsShownMax = 20;

export type SeedFile =
  | { readonly kind: 'read'; readonly seeds: readonly string[]; readonly problems: ConfigProblem[] }
  | { readonly kind: 'unreadable'; readonly message: string; readonly remedy: string };

/** @param file - absolute path */
export function readSeedFile(file: string): SeedFile {
  const read = readText(file, seedFileBytesMax);
  if (!read.ok) return { kind: 'unreadable', message: read.message, remedy: read.remedy };
  const seeds: string[] = [];
  const problems: ConfigProblem[] = [];
  let wrong = 0;
  for (const [index, line] of read.text.split('\n').entries()) {
    const seed = line.trim();
    if (seed === '' || seed.startsWith('#')) continue;
    const problem = seedProblem(seed);
    if (problem === null) {
      seeds.push(seed);
      continue;
    }
    wrong++;
    if (wrong > problemsShownMax) continue;
    const at = { file, path: '', line: index + 1, column: line.indexOf(seed[0]!) + 1 };
    problems.push({ code: 'config-bad-value', ...at, ...problem });
  }
  if (wrong > problemsShownMax) {
    const message = `${wrong - problemsShownMax} more lines are not seeds`;
    const at = { file, path: '', line: 0, column: 0 };
    problems.push({ code: 'config-bad-value', ...at, message, remedy: '' });
  }
  return { kind: 'read', seeds, problems };
}
