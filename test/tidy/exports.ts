// The rule about dead exports: shipped code must use each export of shipped code. Tests do not
// count, because an export for tests alone only looks alive. Exception: names that their own file
// uses may be exported for its test. Types in a file's own signatures count as used.
import ts from 'typescript';
import { importsOf } from './imports.ts';
import {
  eachNode,
  isShipped,
  isTypeScript,
  lineOf,
  type Offence,
  parse,
  type Rule,
  type SourceText,
} from './source.ts';

interface Export {
  readonly name: string;
  readonly node: ts.Node;
  readonly isType: boolean;
}

function exportsOf(source: SourceText): Export[] {
  return parse(source).statements.flatMap((statement): Export[] => {
    if (ts.isExportAssignment(statement)) {
      return [{ name: 'default', node: statement, isType: false }];
    }
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause;
      if (clause === undefined || !ts.isNamedExports(clause)) return [];
      return clause.elements.map(({ name }) => ({ name: name.text, node: name, isType: false }));
    }
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.flatMap(({ name }) =>
        ts.isIdentifier(name) ? [{ name: name.text, node: name, isType: false }] : [],
      );
    }
    // For other files, a class that only its own file constructs is a type.
    const isType =
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement) ||
      ts.isClassDeclaration(statement);
    const named = isType || ts.isFunctionDeclaration(statement);
    if (!named || statement.name === undefined) return [];
    return [{ name: statement.name.text, node: statement.name, isType }];
  });
}

/** Whether a file uses its own export `name`, apart from declaring it. */
function usedAtHome(source: SourceText, { name, node }: Export): boolean {
  let used = false;
  eachNode(source, (other) => {
    used ||= ts.isIdentifier(other) && other.text === name && other !== node;
  });
  return used;
}

/** `path#name` of everything that the files import; `path#*` for all exports of a file. */
function importedBy(sources: readonly SourceText[]): Set<string> {
  const imports = sources.flatMap(importsOf);
  return new Set(
    imports.flatMap(({ target, names }) => names.map((name) => `${target ?? ''}#${name}`)),
  );
}

/**
 * @param allowed - `path#name` with the reason why no file imports it; unneeded entries are
 *   violations
 */
export function deadExports(allowed: Readonly<Record<string, string>>): Rule {
  return {
    claim: 'every export of shipped code is used by shipped code',
    remedy: 'remove it, drop the word export, or allow it in test/tidy.test.ts with a reason',
    check: (sources) => {
      const shipped = sources.filter(isShipped);
      const alive = importedBy(shipped);
      const tested = importedBy(sources.filter((s) => isTypeScript(s) && !isShipped(s)));
      const offences: Offence[] = [];
      const needed = new Set<string>();
      for (const source of shipped) {
        for (const found of exportsOf(source)) {
          const key = `${source.path}#${found.name}`;
          if (alive.has(key) || alive.has(`${source.path}#*`)) continue;
          const home = usedAtHome(source, found);
          if (home && (found.isType || tested.has(key))) continue;
          needed.add(key);
          if (key in allowed) continue;
          const why = home ? 'used in its own file only' : 'used by no shipped code';
          const what = `${found.name}: ${why}`;
          offences.push({ path: source.path, line: lineOf(source, found.node), what });
        }
      }
      const stale = Object.keys(allowed).filter((key) => !needed.has(key));
      return [...offences, ...stale.map((key) => staleEntry(key))];
    },
  };
}

function staleEntry(key: string): Offence {
  return { path: key.split('#')[0] ?? '', line: 1, what: `${key} need not be allowed any more` };
}
