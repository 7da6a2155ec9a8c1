// Parses a config file and finds the line and column of each key. JSON is parsed as YAML, of which
// it is a subset. Aliases and tags are refused: a config needs neither, and they can make a small
// file expand to a large one or hide a key.

import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';
import { type ConfigProblem, type ProblemCode, pathText } from './problem.ts';
import { readText } from './read-text.ts';

/** Bytes: a larger file probably contains seeds that belong in seed files. */
const configBytesMax = 1024 ** 2;

/** A parsed config file. */
export class ConfigSource {
  readonly file: string;
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;

  constructor(file: string, document: Document.Parsed, lines: LineCounter) {
    this.file = file;
    this.#document = document;
    this.#lines = lines;
  }

  /** The values as plain objects. */
  values(): unknown {
    return this.#document.toJS({ maxAliasCount: 0 });
  }

  /**
   * A problem at a key path. If the path does not exist, the place is that of its longest existing
   * part.
   */
  problem(
    code: ProblemCode,
    path: readonly PropertyKey[],
    message: string,
    remedy: string,
  ): ConfigProblem {
    const offset = this.#offsetOf(path, code === 'config-unknown-key');
    const { line, col } = this.#lines.linePos(offset);
    return { code, file: this.file, path: pathText(path), line, column: col, message, remedy };
  }

  /** Offset of the value if it is a scalar; otherwise, and with `ofKey`, that of its key. */
  #offsetOf(path: readonly PropertyKey[], ofKey: boolean): number {
    let node: unknown = this.#document.contents;
    let offset = startOf(node) ?? 0;
    for (const part of path) {
      if (isMap(node)) {
        const pair = node.items.find((item) => keyText(item.key) === String(part));
        if (pair === undefined) break;
        node = pair.value;
        const scalar = isScalar(node) && node.value !== null && !ofKey;
        offset = startOf(scalar ? node : pair.key) ?? offset;
      } else if (isSeq(node)) {
        node = node.items[Number(part)];
        offset = startOf(node) ?? offset;
      } else break;
    }
    return offset;
  }
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value ?? '') : String(key);
}

/** @returns the parsed file, or the reasons why it cannot be parsed */
export function readSource(
  file: string,
): { ok: true; source: ConfigSource } | { ok: false; problems: ConfigProblem[] } {
  const read = readText(file, configBytesMax);
  if (!read.ok) {
    const at = { file, path: '', line: 0, column: 0 };
    const { message, remedy } = read;
    return { ok: false, problems: [{ code: 'config-unreadable', ...at, message, remedy }] };
  }
  const lines = new LineCounter();
  const document = parseDocument(read.text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    version: '1.2',
  });
  const problems = syntaxProblems(file, document, lines);
  return problems.length === 0
    ? { ok: true, source: new ConfigSource(file, document, lines) }
    : { ok: false, problems };
}

function syntaxProblems(file: string, document: Document.Parsed, lines: LineCounter) {
  const problems: ConfigProblem[] = [];
  const add = (offset: number, message: string, remedy: string) => {
    const { line, col } = lines.linePos(offset);
    const at = { file, path: '', line, column: col };
    problems.push({ code: 'config-syntax', ...at, message, remedy });
  };
  for (const error of [...document.errors, ...document.warnings]) {
    const [message, remedy] = SYNTAX[error.code] ?? [error.message, 'check the YAML around it'];
    add(error.pos[0], message, remedy);
    // A stray bracket causes many errors; the first one names the cause.
    if (error.code !== 'DUPLICATE_KEY' && error.code !== 'TAG_RESOLVE_FAILED') break;
  }
  if (problems.length > 0) return problems;
  visit(document, {
    Alias: (_, node) => {
      add(startOf(node) ?? 0, 'is an alias, which a config must not use', 'write out the value');
    },
  });
  if (problems.length > 0) return problems;
  if (document.contents === null || !isMap(document.contents)) {
    const empty = document.contents === null ? 'is empty' : 'is not a map of keys to values';
    add(0, empty, 'write at least "seeds: [https://example.org/]"');
  }
  return problems;
}

/** Replaces unclear messages of the parser. */
const SYNTAX: Readonly<Partial<Record<string, readonly [message: string, remedy: string]>>> = {
  DUPLICATE_KEY: ['the key occurs twice in the same map', 'keep one of them'],
  MULTIPLE_DOCS: ['a second document begins', 'remove the line "---"'],
  RESOURCE_EXHAUSTION: ['is nested too deeply', 'check the brackets'],
  TAB_AS_INDENT: ['is indented with a tab', 'indent with spaces'],
  TAG_RESOLVE_FAILED: ['has a tag, which a config must not use', 'remove the tag (!…)'],
};
