// `DATA/complete.json`: the word that a crawl is over, left by `launch` for whoever comes later. It
// names the crawl by a key of its seeds, limits and scope, so that a changed config crawls on.

import fs from 'node:fs';
import path from 'node:path';
import type { Config } from '../../config/config.ts';
import { crawlKey } from '../../config/fingerprint.ts';

/** What the file holds. */
export interface CompletionNote {
  /** `crawlKey` of the config. */
  readonly crawl: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** Agents that were there at the end. */
  readonly agents: readonly string[];
}

export type Completion =
  | { readonly kind: 'complete'; readonly note: CompletionNote }
  /** Of other seeds or limits, or not readable as what this program writes. */
  | { readonly kind: 'other' }
  | { readonly kind: 'none' };

export function readCompletion(config: Config): Completion {
  let text: string;
  try {
    text = fs.readFileSync(fileOf(config), 'utf8');
  } catch {
    return { kind: 'none' };
  }
  try {
    const note = JSON.parse(text) as CompletionNote;
    return note.crawl === crawlKey(config) ? { kind: 'complete', note } : { kind: 'other' };
  } catch {
    return { kind: 'other' };
  }
}

/** By rename, so that a reader sees a whole file or none. */
export function writeCompletion(config: Config, what: Omit<CompletionNote, 'crawl'>): void {
  const file = fileOf(config);
  const note: CompletionNote = { crawl: crawlKey(config), ...what };
  fs.writeFileSync(`${file}.tmp`, `${JSON.stringify(note)}\n`, { flush: true });
  fs.renameSync(`${file}.tmp`, file);
}

export function removeCompletion(config: Config): void {
  fs.rmSync(fileOf(config), { force: true });
}

function fileOf(config: Config): string {
  return path.join(config.agent.dataDir, 'complete.json');
}
