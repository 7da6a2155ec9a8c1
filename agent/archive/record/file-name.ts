// Names of archive files: `ID-TIME-SERIAL.warc.gz` or `.warc.zst`, with the index
// `ID-TIME-SERIAL.cdxj` beside it. The identifier of the agent makes a name unique in a cluster,
// and the time in a collection. The serial number grows with each file of a directory, and shows
// which is the newest. The name never changes, so a reader finds the file during the crawl under
// the name in the row of a page.

import type { CompressionFormat } from './compression.ts';

const SUFFIXES: Readonly<Record<CompressionFormat, string>> = { gzip: '.gz', zstd: '.zst' };

/** The names of a WARC file and its index, within the directory. */
export interface FileNames {
  readonly warc: string;
  readonly index: string;
  readonly serial: number;
}

/** @param nowMs - Unix milliseconds */
export function fileNames(
  agent: string,
  nowMs: number,
  serial: number,
  format: CompressionFormat,
): FileNames {
  const time = new Date(nowMs).toISOString().replace(/\D/g, '').slice(0, 14);
  const stem = `${agent}-${time}-${String(serial).padStart(5, '0')}`;
  return { warc: `${stem}.warc${SUFFIXES[format]}`, index: `${stem}.cdxj`, serial };
}

/** Null for a name that is not of this agent's archive. */
export function readFileName(agent: string, name: string): FileNames | null {
  if (!name.startsWith(`${agent}-`)) return null;
  const match = /^(\d{14}-(\d{5,9}))\.warc\.(?:gz|zst)$/.exec(name.slice(agent.length + 1));
  if (match === null) return null;
  const index = `${agent}-${match[1]}.cdxj`;
  return { warc: name, index, serial: Number(match[2]) };
}

/** The serial number in the name of any agent's archive file; 0 for any other name. */
export function serialOf(warc: string): number {
  return Number(/-(\d+)\.warc\.(?:gz|zst)$/.exec(warc)?.[1] ?? 0);
}
