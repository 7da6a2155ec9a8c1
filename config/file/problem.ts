// What is wrong with a config, as a value: where it is, what it is and what to do about it. Every
// problem of a file is collected before anything is said, so that one run shows them all. `load.ts`
// collects; the command line prints with `formatProblems` and exits with 4.

/** Stable; scripts may rely on it. */
export type ProblemCode =
  /** The file cannot be read: missing, a directory, no permission, too large, not UTF-8. */
  | 'config-unreadable'
  /** Not YAML or JSON, or a part of YAML that a config may not use (aliases, tags). */
  | 'config-syntax'
  | 'config-unknown-key'
  | 'config-missing-key'
  /** A value of the wrong type, unit, range or form. */
  | 'config-bad-value'
  /** Values that are fine alone but not together. */
  | 'config-rule';

export interface ConfigProblem {
  readonly code: ProblemCode;
  /** The config file, or the seed file, as an absolute path. */
  readonly file: string;
  /** Key path such as `cluster.agents[1].id`; empty where the whole file is meant. */
  readonly path: string;
  /** 1-based; 0 where there is no text to point at. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** What to write instead; empty where the message says it. */
  readonly remedy: string;
}

/** A terminal is useless beyond this; the rest is counted. */
const SHOWN_MAX = 50;

/** @returns one line a problem, `file:line:column: path: message; remedy`, in order of the text. */
export function formatProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.slice(0, SHOWN_MAX).map(formatProblem);
  if (problems.length > SHOWN_MAX) lines.push(`… and ${problems.length - SHOWN_MAX} more problems`);
  return lines.join('\n');
}

/** @returns the problem as one line. */
export function formatProblem(problem: ConfigProblem): string {
  const place = problem.line === 0 ? problem.file : `${problem.file}:${problem.line}`;
  const column = problem.column === 0 ? '' : `:${problem.column}`;
  const path = problem.path === '' ? '' : ` ${problem.path}:`;
  const remedy = problem.remedy === '' ? '' : `; ${problem.remedy}`;
  return `${place}${column}:${path} ${problem.message}${remedy}`;
}

/** @returns `['cluster', 'agents', 1, 'id']` as `cluster.agents[1].id`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text;
}
