// An index file whose WARC file is complete, sorted by its bytes, as tools for replay search it. While
// a WARC file grows its lines follow one another in the order of the records; when it has ended they
// are sorted once, in a new file that takes the place of the old one.

import fs from 'node:fs';
import { readCdxjLine } from './record/cdxj.ts';

/**
 * Sorts the index, and leaves out a torn last line and lines of records beyond `end`.
 *
 * @param end - where the WARC file ends
 * @throws errors of the disk; the file is then as it was
 */
export function sortIndex(path: string, end = Infinity): void {
  // One character a byte: sorting compares characters.
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
