// Reads the independent case files, which lie beside the checkout and not in it. Tests that use
// them skip with a clear word where they are absent; each has its own table in the repository too.

import { existsSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../../../shared/cases/', import.meta.url);

/** The parsed case file, or null where the folder is absent. */
export function independentCases<Shape>(name: string): Shape | null {
  const file = new URL(name, FOLDER);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Shape) : null;
}

/** For `test(name, { skip: absent(cases) }, …)`. */
export function absent(cases: unknown): string | false {
  return cases === null ? 'the independent case files are not beside this checkout' : false;
}

/** The text of a row that may hold it in base 64. */
export function bytesOf(text: string | undefined, base64: string | undefined): Uint8Array {
  return base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64');
}
