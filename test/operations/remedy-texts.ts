// Collects every text of the product that tells a person to run a command or to change a file, a
// key or a process. The texts come from the source, so that no new message is missed;
// `remedy-coverage.ts` must name a test for each.

import ts from 'typescript';
import { isShipped, parse, readTree, type SourceText } from '../tidy/source.ts';

export interface RemedyText {
  /** The path of the source file. */
  readonly path: string;
  /** The text, with `…` for each inserted value and `ubiring` for the name of the program. */
  readonly text: string;
}

/** A command or an option of the product. */
const command = /\bubiring [a-z…]|(^|[\s'"(])--[a-z]{3,}|^ {2}ubiring /;
/** Verbs of instructions about files, processes and the config. */
const verbs = [
  ...[
    'add',
    'confirm',
    'delete',
    'end',
    'free',
    'launch',
    'look at',
    'lower',
    'move',
    'name',
    'put',
  ],
  ...['raise', 'remove', 'rename', 'restore', 'run', 'set', 'start', 'stop', 'upgrade', 'use'],
];
/** An instruction at the start of a sentence, a clause or a line. */
const order = new RegExp(`(^|[;:,.(] |\\n| or |\\band )(${verbs.join('|')}) [a-z…'\`]`);
const others = /\bagain\b|\bis needed\b/;
const sql = /\b(SELECT|UPDATE|INSERT|DELETE FROM|CASE|ALTER TABLE)\b/;

/** Files with descriptions of commands and keys, which are no reaction to a fault. */
const descriptions = [
  'agent/cli/command-line.ts',
  'config/keys/schema.ts',
  'config/keys/http-keys.ts',
];

export function remedyTexts(root: string): RemedyText[] {
  const sources = readTree(root).filter(isShipped);
  return sources.filter(({ path }) => !descriptions.includes(path)).flatMap(textsIn);
}

function textsIn(source: SourceText): RemedyText[] {
  const found: RemedyText[] = [];
  const inside = (node: ts.Node): void => {
    const text = textOf(node);
    if (text === null) return ts.forEachChild(node, inside);
    if (isRemedy(text)) found.push({ path: source.path, text });
    filledInto(node).forEach(inside);
  };
  inside(parse(source));
  return found;
}

function isRemedy(text: string): boolean {
  if (!text.includes(' ') || sql.test(text)) return false;
  return command.test(text) || order.test(text) || others.test(text);
}

/** Expressions that are inserted into a text; each may be a remedy itself. */
function filledInto(node: ts.Node): ts.Node[] {
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(({ expression }) => expression);
  if (ts.isStringLiteralLike(node)) return [];
  if (textOf(node) === null) return [node];
  const parts: ts.Node[] = [];
  ts.forEachChild(node, (child) => void parts.push(...filledInto(child)));
  return parts;
}

/** Null if the node is not a text. */
function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isParenthesizedExpression(node)) return textOf(node.expression);
  if (ts.isTemplateExpression(node)) {
    const spans = node.templateSpans.map(({ expression, literal }) => {
      const isName = expression.getText().startsWith('programName(');
      return (isName ? 'ubiring' : '…') + literal.text;
    });
    return node.head.text + spans.join('');
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) {
    return null;
  }
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === null && right === null ? null : (left ?? '…') + (right ?? '…');
}
