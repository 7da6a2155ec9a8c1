// Seed files: a URL a line, blank lines and lines that start with `#` left out. A `#` later in a line
// belongs to the URL. Read whole, since every agent puts all seeds before it can be idle; the caps
// keep that bounded. `load.ts` reads each file that the config names, and each agent that a launch
// has started reads it again.

import { seedProblem } from '../values/seed.ts';
import type { ConfigProblem } from './problem.ts';
import { readText } from './read-text.ts';

/** With the cap on seeds this allows about sixty bytes a seed, which is a long one. */
const seedFileBytesMax = 64 * 1024 ** 2;
/** Seeds are held in memory; a crawl with more wants a sitemap or a page of links as its seed. */
export const seedsMax = 1_000_000;
/** A file that is no list of URLs is wrong in every line; the first few show it. */
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
    const message = `${wrong - problemsShownMax} more lines are no seeds`;
    const at = { file, path: '', line: 0, column: 0 };
    problems.push({ code: 'config-bad-value', ...at, message, remedy: '' });
  }
  return { kind: 'read', seeds, problems };
}
