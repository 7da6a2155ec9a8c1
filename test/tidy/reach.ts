// Rules about what code may use: the clock, timers and randomness only in their places, and SQL
// only in the storage.
import ts from 'typescript';
import {
  eachNode,
  isShipped,
  type Offence,
  offenceAt,
  type Rule,
  type SourceText,
} from './source.ts';

const timers = new Set(['setTimeout', 'setInterval', 'setImmediate']);
const clocks = new Set(['Date.now', 'performance.now', 'performance.timeOrigin', 'process.hrtime']);
const chance = new Set([
  'Math.random',
  'randomUUID',
  'randomBytes',
  'randomInt',
  'getRandomValues',
]);
const timerModules = /^(node:)?timers(\/promises)?$/;

/** Files that may use timers: I/O with timeouts, and the composition roots. */
const timerPlaces = [
  'agent/archive/archive.ts',
  'agent/fetch/',
  'agent/messaging/',
  'agent/networks/redis/',
  'agent/parse/parse-pool.ts',
  'agent/storage/file/file-presence.ts',
  'agent/monitor/sampler.ts',
  'agent/storage/file/wal-watch.ts',
  'agent/cli/',
  'agent/main.ts',
  'agent/agent.ts',
];

function isProperty(node: ts.Identifier): boolean {
  const { parent } = node;
  return (
    (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
    (ts.isPropertyAssignment(parent) && parent.name === node) ||
    ts.isPropertySignature(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isTypeQueryNode(parent)
  );
}

/** The clock, timer or source of randomness that a node uses, if any. */
function reach(node: ts.Node): { what: string; timer: boolean } | null {
  if (ts.isPropertyAccessExpression(node)) {
    const what = node.getText().replace(/^globalThis\./, '');
    if (clocks.has(what) || chance.has(what)) return { what, timer: false };
    if (timers.has(what)) return { what, timer: true };
  }
  if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
    const bare = node.expression.getText() === 'Date' && (node.arguments ?? []).length === 0;
    if (bare) return { what: node.getText(), timer: false };
  }
  if (ts.isStringLiteral(node) && ts.isImportDeclaration(node.parent)) {
    if (timerModules.test(node.text)) return { what: node.text, timer: true };
  }
  if (!ts.isIdentifier(node)) return null;
  if (chance.has(node.text)) return { what: node.text, timer: false };
  return timers.has(node.text) && !isProperty(node) ? { what: node.text, timer: true } : null;
}

export const ambient: Rule = {
  claim: 'clocks and randomness come from agent/runtime/, timers also from a few other places',
  remedy: 'take `now`, a clock or a random source as a parameter',
  check: (sources) =>
    sources
      .filter((source) => isShipped(source) && !source.path.startsWith('agent/runtime/'))
      .flatMap((source) => {
        const mayTime = timerPlaces.some((place) => source.path.startsWith(place));
        const offences: Offence[] = [];
        eachNode(source, (node) => {
          const found = reach(node);
          if (found === null || (found.timer && mayTime)) return;
          offences.push(offenceAt(source, node, found.what));
        });
        return offences;
      }),
};

/** Upper case only, because in lower case these are English words. */
const statements = [
  /\bSELECT\b[\s\S]*\bFROM\b/,
  /\bINSERT( OR \w+)? INTO\b/,
  /\bUPDATE\b[\s\S]*\bSET\b/,
  /\bDELETE FROM\b/,
  /\bPRAGMA \w/,
  /\bCREATE (TABLE|VIEW|(UNIQUE )?INDEX|TRIGGER)\b/,
];

function mayHoldSql({ path }: SourceText): boolean {
  return path.startsWith('agent/storage/') || /^agent\/cli\/.*\/query-[a-z]+\.ts$/.test(path);
}

export const sql: Rule = {
  claim: 'SQL is only in agent/storage/ and the query-* files of agent/cli/',
  remedy: 'give the storage a method that says what is wanted',
  check: (sources) =>
    sources
      .filter((source) => isShipped(source) && !mayHoldSql(source))
      .flatMap((source) => {
        const offences: Offence[] = [];
        eachNode(source, (node) => {
          const whole = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
          const text = whole ? node.getText() : '';
          if (statements.some((statement) => statement.test(text))) {
            offences.push(offenceAt(source, node, text.slice(0, 60)));
          }
        });
        return offences;
      }),
};
