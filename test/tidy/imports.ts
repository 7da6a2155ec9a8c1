// The imports of each file, and the rule that all imports between two folders, types included, run
// in one direction. .dependency-cruiser.json has the rules that name folders.
import { posix } from 'node:path';
import ts from 'typescript';
import { eachNode, isShipped, lineOf, type Offence, type Rule, type SourceText } from './source.ts';

export interface Import {
  readonly from: SourceText;
  readonly line: number;
  /** As written in the file. */
  readonly specifier: string;
  /** Path of the imported file, relative to the root; null for packages and built-ins. */
  readonly target: string | null;
  readonly typeOnly: boolean;
  /** Names as the imported file exports them; `*` for all. */
  readonly names: readonly string[];
}

/** Imports, re-exports, dynamic imports, import types and worker URLs of a file. */
export function importsOf(from: SourceText): Import[] {
  const imports: Import[] = [];
  const add = (node: ts.Node, literal: ts.Node, typeOnly: boolean, names: readonly string[]) => {
    if (!ts.isStringLiteralLike(literal)) return;
    const specifier = literal.text;
    const relative = specifier.startsWith('./') || specifier.startsWith('../');
    const target = relative ? posix.join(posix.dirname(from.path), specifier) : null;
    imports.push({ from, line: lineOf(from, node), specifier, target, typeOnly, names });
  };
  eachNode(from, (node) => {
    if (ts.isImportDeclaration(node)) {
      const { names, typeOnly } = namesOfClause(node.importClause);
      add(node, node.moduleSpecifier, typeOnly, names);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      const clause = node.exportClause;
      const named = clause !== undefined && ts.isNamedExports(clause);
      const names = named ? clause.elements.map((e) => (e.propertyName ?? e.name).text) : ['*'];
      add(node, node.moduleSpecifier, node.isTypeOnly, names);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const name = node.qualifier?.getText().split('.')[0];
      add(node, node.argument.literal, true, [name ?? '*']);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      if (node.arguments[0] !== undefined) add(node, node.arguments[0], false, ['*']);
    } else if (ts.isNewExpression(node) && node.expression.getText() === 'URL') {
      const [path, base] = node.arguments ?? [];
      if (path !== undefined && base?.getText() === 'import.meta.url')
        add(node, path, false, ['*']);
    }
  });
  return imports;
}

function namesOfClause(clause: ts.ImportClause | undefined): {
  names: string[];
  typeOnly: boolean;
} {
  if (clause === undefined) return { names: [], typeOnly: false };
  const names = clause.name === undefined ? [] : ['default'];
  const bindings = clause.namedBindings;
  let allTypes = clause.name === undefined;
  if (bindings !== undefined && ts.isNamedImports(bindings)) {
    for (const element of bindings.elements) {
      names.push((element.propertyName ?? element.name).text);
      allTypes &&= element.isTypeOnly;
    }
  } else if (bindings !== undefined) {
    names.push('*');
    allTypes = false;
  }
  const whole = clause.phaseModifier === ts.SyntaxKind.TypeKeyword;
  return { names, typeOnly: whole || (allTypes && names.length > 0) };
}

/** Files that connect the folders beside and below them. Each counts as its own folder. */
const joining = new Set(['agent/agent.ts', 'agent/main.ts']);

function folderOf(path: string): string {
  return joining.has(path) ? path : posix.dirname(path);
}

export const oneWay: Rule = {
  claim: 'imports between folders run one way',
  remedy: 'move what both folders need into the lower one, or declare a port there',
  check: (sources) => {
    const graph = new Map<string, Import[]>();
    for (const source of sources.filter(isShipped)) {
      const folder = folderOf(source.path);
      graph.set(folder, [...(graph.get(folder) ?? []), ...importsOf(source)]);
    }
    const done = new Set<string>();
    const offences: Offence[] = [];
    const visit = (folder: string, trail: readonly string[]) => {
      for (const { from, target, line } of graph.get(folder) ?? []) {
        const other = target === null ? folder : folderOf(target);
        if (other === folder || done.has(other)) continue;
        const start = trail.indexOf(other);
        if (start < 0) visit(other, [...trail, other]);
        else
          offences.push({
            path: from.path,
            line,
            what: [...trail.slice(start), other].join(' > '),
          });
      }
      done.add(folder);
    };
    for (const folder of graph.keys()) if (!done.has(folder)) visit(folder, [folder]);
    return offences;
  },
};
