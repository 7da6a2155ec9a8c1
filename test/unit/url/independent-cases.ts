// Reads the independent case files, which lie beside the checkout. Tests that use them are skipped
// with a message if the files are absent; each of these tests also has its own cases in the
// repository.

import { existsSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../../../shared/cases/', import.meta.url);

/** The parsed case file, or null if the folder is absent. */
export function independentCases<Shape>(name: string): Shape | null {
  const file = new URL(name, FOLDER);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Shape) : null;
}

/** The value of `skip`: `test(name, { skip: absent(cases) }, …)`. */
export function absent(cases: unknown): string | false {
  return cases === null ? 'the independent case files are not beside this checkout' : false;
}

/** The bytes of a row, given as text or in base64. */
export function bytesOf(text: string | undefined, base64: string | undefined): Uint8Array {
  return base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64');
}
