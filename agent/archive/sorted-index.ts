// Sorts the index of a complete WARC file by bytes, as replay tools expect. While the WARC file
// grows, the lines are in the order of the records. The sorted lines are written to a new file,
// which replaces the index.

import fs from 'node:fs';
import { readCdxjLine } from './record/cdxj.ts';

/**
 * Sorts the index. Drops an incomplete last line, and lines of records beyond `end`.
 * @param end - size of the WARC file, in bytes
 * @throws errors of the file system; the index is then unchanged
 */
export function sortIndex(path: string, end = Infinity): void {
  // In Latin-1 each byte is one character, so the sort compares bytes.
  const text = fs.readFileSync(path, 'latin1');
  const lines = text.split('\n');
  lines.pop();
  const kept = end === Infinity ? lines : lines.filter((line) => isWithin(line, end));
  const sorted = kept
    .sort()
    .map((line) => `${line}\n`)
    .join('');
  if (sorted === text) return;
  const unfinished = `${path}.new`;
  try {
    const fd = fs.openSync(unfinished, 'w');
    try {
      fs.writeFileSync(fd, sorted, 'latin1');
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(unfinished, path);
  } catch (error) {
    fs.rmSync(unfinished, { force: true });
    throw error;
  }
}

function isWithin(line: string, end: number): boolean {
  const entry = readCdxjLine(line);
  return entry === null || entry.offset + entry.length <= end;
}
