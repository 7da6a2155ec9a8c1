// What each file imports, and the two rules about it: imports run one way through the layers of
// DESIGN section 9, and in no circle, types included. Used by tidy.test.ts and by exports.ts.
import { posix } from 'node:path';
import ts from 'typescript';
import {
  eachNode,
  isTypeScript,
  lineOf,
  type Offence,
  type Rule,
  type SourceText,
} from './source.ts';

export interface Import {
  readonly from: SourceText;
  readonly line: number;
  /** As written. */
  readonly specifier: string;
  /** Path of the file imported, relative to the root; null for packages and built-ins. */
  readonly target: string | null;
  readonly typeOnly: boolean;
  /** Names as the imported file exports them; `*` for all of them. */
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

const bottom = ['assignment', 'failure-detector', 'config'];
/** Pure feature folders: whatever time or chance they need is passed to them. */
const pure = ['agent/core', 'agent/frontier', 'agent/robots', 'agent/storage'];

/** Files in which feature folders meet; each is one more place that knows them all. */
const compositionRoots = [
  'agent/agent.ts',
  'agent/agent-end.ts',
  'agent/config-parts.ts',
  'agent/pipeline',
  'agent/fetching.ts',
  'agent/protocol.ts',
  'agent/control.ts',
  'agent/explanation.ts',
];

/** The layer of a path: a folder, or one of the two composition roots. */
function layerOf(path: string): string {
  const parts = path.split('/');
  if (parts[0] !== 'agent') return parts[0] ?? '';
  return parts.slice(0, 2).join('/');
}

function mayImport({ from, target, typeOnly }: Import & { target: string }): boolean {
  const [layer, other] = [layerOf(from.path), layerOf(target)];
  if (layer === other || layer === 'test' || layer === 'bench') return true;
  if (other === 'test' || other === 'bench' || other === 'agent/main.ts') return false;
  if (compositionRoots.includes(layer)) return other !== 'agent/cli';
  switch (layer) {
    case 'assignment':
    case 'failure-detector':
    case 'agent/url':
      return false;
    case 'config':
      return other === 'assignment';
    case 'agent/runtime':
      return bottom.includes(other);
    case 'agent/main.ts':
    case 'agent/cli':
      return true;
    default:
      break;
  }
  if (bottom.includes(other) || other === 'agent/url') return true;
  if (other === 'agent/runtime') return typeOnly || !pure.includes(layer);
  if (layer === 'agent/messaging') return target === 'agent/core/messages.ts';
  if (layer === 'agent/storage') {
    return typeOnly && (other === 'agent/core' || other === 'agent/frontier');
  }
  // The monitor shows what the core tells of itself, and would only spell that out again.
  const knowsCoreTypes = layer === 'agent/frontier' || layer === 'agent/monitor';
  return knowsCoreTypes && typeOnly && other === 'agent/core';
}

/** Whether a package or built-in may be imported: the innermost layers stand alone. */
function mayUsePackage({ from, specifier }: Import): boolean {
  const layer = layerOf(from.path);
  if (layer === 'assignment' || layer === 'failure-detector') return false;
  return layer !== 'agent/core' || /^node:assert(\/strict)?$/.test(specifier);
}

export const layers: Rule = {
  claim: 'imports run one way',
  remedy: 'declare the port in the consumer and join the two in agent/agent.ts (DESIGN section 9)',
  check: (sources) =>
    sources
      .filter(isTypeScript)
      .flatMap(importsOf)
      .filter((found) =>
        found.target === null
          ? !mayUsePackage(found)
          : !mayImport({ ...found, target: found.target }),
      )
      .map(({ from, line, specifier, typeOnly }) => {
        const what = `${layerOf(from.path)} imports ${typeOnly ? 'type ' : ''}${specifier}`;
        return { path: from.path, line, what };
      }),
};

export const cycles: Rule = {
  claim: 'no file imports itself by way of others',
  remedy: 'move what both need into a file of its own',
  check: (sources) => {
    const graph = new Map(sources.filter(isTypeScript).map((s) => [s.path, importsOf(s)]));
    const done = new Set<string>();
    const offences: Offence[] = [];
    const visit = (path: string, trail: readonly string[]) => {
      for (const { target, line } of graph.get(path) ?? []) {
        if (target === null || done.has(target)) continue;
        const start = trail.indexOf(target);
        if (start >= 0) {
          offences.push({ path, line, what: [...trail.slice(start), target].join(' > ') });
        } else {
          visit(target, [...trail, target]);
        }
      }
      done.add(path);
    };
    for (const path of graph.keys()) if (!done.has(path)) visit(path, [path]);
    return offences;
  },
};
