// Every text of the product that tells a person what to do: to run a command, or to do something to a
// file, a key or a process. Read from the source, so that no new message escapes: each has to be one
// that `remedy-coverage.ts` says how it is tried.

import ts from 'typescript';
import { isShipped, parse, readTree, type SourceText } from '../tidy/source.ts';

export interface RemedyText {
  /** Of the source file. */
  readonly path: string;
  /** With `…` for what is filled in, and `ubiring` for the way in which it was called. */
  readonly text: string;
}

/** A command of the product, or an option. */
const command = /\bubiring [a-z…]|(^|[\s'"(])--[a-z]{3,}|^ {2}ubiring /;
/** What a person is told to do with a file, a process or the config. */
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
/** Told where something new begins: a sentence, a clause, a line. */
const order = new RegExp(`(^|[;:,.(] |\\n| or |\\band )(${verbs.join('|')}) [a-z…'\`]`);
const others = /\bagain\b|\bis needed\b/;
const sql = /\b(SELECT|UPDATE|INSERT|DELETE FROM|CASE|ALTER TABLE)\b/;

/** Descriptions of commands and keys, which are read before anything is wrong. */
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

/** What is not written there itself: it may be such a text of its own. */
function filledInto(node: ts.Node): ts.Node[] {
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(({ expression }) => expression);
  if (ts.isStringLiteralLike(node)) return [];
  if (textOf(node) === null) return [node];
  const parts: ts.Node[] = [];
  ts.forEachChild(node, (child) => void parts.push(...filledInto(child)));
  return parts;
}

/** Null of what is no text. */
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
