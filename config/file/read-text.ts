// Reads small text files: the config, seed files and port records.

import fs from 'node:fs';

/** Reads a UTF-8 file of at most `bytesMax` bytes. */
export function readText(
  file: string,
  bytesMax: number,
): { ok: true; text: string } | { ok: false; message: string; remedy: string } {
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer.
    descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const stat = fs.fstatSync(descriptor);
    if (stat.isDirectory()) return unreadable('is a directory', 'write the path of a file');
    if (!stat.isFile()) return unreadable('is not a regular file', 'write the path of a file');
    if (stat.size > bytesMax) {
      const remedy = 'move seeds from the config to seedFiles, and split large seed files';
      return unreadable(`is larger than ${bytesMax} bytes`, remedy);
    }
    const bytes = fs.readFileSync(descriptor);
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    return unreadable(...reasonOf(error));
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

function unreadable(message: string, remedy: string) {
  return { ok: false, message, remedy } as const;
}

function reasonOf(error: unknown): [message: string, remedy: string] {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT' || code === 'ENOTDIR') return ['does not exist', 'check the path'];
  if (code === 'EACCES' || code === 'EPERM') return ['is not readable', 'check its permissions'];
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return ['is not UTF-8', 'save it as UTF-8'];
  return [`cannot be read (${code || String(error)})`, 'check the path'];
}
