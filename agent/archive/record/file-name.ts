// Names of archive files: `ID-TIME-SERIAL.warc.gz`, or `.warc.zst`, with the index
// `ID-TIME-SERIAL.cdxj` beside it. The agent's identifier makes them unique in a cluster, the time
// in a collection; the serial grows with each file of a directory, however that is packed, and says
// which is the newest. A file has its name from its first byte on, so that whoever reads while the
// crawl runs finds it where the page's row says.

import type { CompressionFormat } from './compression.ts';

const SUFFIXES: Readonly<Record<CompressionFormat, string>> = { gzip: '.gz', zstd: '.zst' };

/** The two files that belong together, by their names within the directory. */
export interface FileNames {
  readonly warc: string;
  readonly index: string;
  readonly serial: number;
}

/** @param nowMs Unix milliseconds. */
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

/** Null for every name that this agent's archive does not give. */
export function readFileName(agent: string, name: string): FileNames | null {
  if (!name.startsWith(`${agent}-`)) return null;
  const match = /^(\d{14}-(\d{5,9}))\.warc\.(?:gz|zst)$/.exec(name.slice(agent.length + 1));
  if (match === null) return null;
  const index = `${agent}-${match[1]}.cdxj`;
  return { warc: name, index, serial: Number(match[2]) };
}

/** Of a name that some agent's archive gave; 0 of any other. */
export function serialOf(warc: string): number {
  return Number(/-(\d+)\.warc\.(?:gz|zst)$/.exec(warc)?.[1] ?? 0);
}
