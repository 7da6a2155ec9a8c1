// The repository as the tidy rules see it: paths and texts, parsed once by TypeScript's parser.
// Rules take these instead of the disk, so that tests can plant violations. test/tidy.test.ts reads
// the disk.
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import ts from 'typescript';

export interface SourceText {
  /** Relative to the repository's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Offence {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly what: string;
}

export interface Rule {
  /** A claim about the code that holds if the rule finds nothing. */
  readonly claim: string;
  /** How to correct a violation. */
  readonly remedy: string;
  readonly check: (sources: readonly SourceText[]) => Offence[];
}

/** Folders whose code is shipped. Other code may import it, but not the reverse. */
const shippedFolders = ['agent', 'assignment', 'failure-detector', 'config'];
const skippedFolders = new Set(['node_modules', 'dist', 'data', 'coverage']);
const textEndings = new Set(['.ts', '.md', '.json', '.yaml', '.yml', '.sh', '']);

/** Every text file under `root`, without hidden and generated folders, in a fixed order. */
export function readTree(root: string, folder = ''): SourceText[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) {
      const skipped = skippedFolders.has(entry.name) || entry.name.startsWith('.');
      return skipped ? [] : readTree(root, path);
    }
    if (!entry.isFile() || !textEndings.has(extname(entry.name))) return [];
    return [{ path, text: readFileSync(join(root, path), 'utf8') }];
  });
}

export function isTypeScript({ path }: SourceText): boolean {
  return path.endsWith('.ts');
}

export function isShipped({ path }: { readonly path: string }): boolean {
  return path.endsWith('.ts') && shippedFolders.includes(path.split('/')[0] ?? '');
}

export function isTest({ path }: SourceText): boolean {
  return path.endsWith('.test.ts');
}

const parsed = new WeakMap<SourceText, ts.SourceFile>();

export function parse(source: SourceText): ts.SourceFile {
  let file = parsed.get(source);
  if (file === undefined) {
    file = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true);
    parsed.set(source, file);
  }
  return file;
}

/** Visits every node of a file, parents first. */
export function eachNode(source: SourceText, visit: (node: ts.Node) => void): void {
  const inside = (node: ts.Node) => {
    visit(node);
    ts.forEachChild(node, inside);
  };
  inside(parse(source));
}

/** The line, counted from 1, on which `node` begins, without its comments. */
export function lineOf(source: SourceText, node: ts.Node): number {
  const file = parse(source);
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
}

export function offenceAt(source: SourceText, node: ts.Node, what: string): Offence {
  return { path: source.path, line: lineOf(source, node), what };
}

/** A violation for every match of `pattern` (with flag g) in a text. */
export function matches(source: SourceText, pattern: RegExp): Offence[] {
  return [...source.text.matchAll(pattern)].map((match) => ({
    path: source.path,
    line: source.text.slice(0, match.index).split('\n').length,
    what: match[0].trim(),
  }));
}
