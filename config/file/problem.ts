// Describes a problem in a config: its place, a message and a remedy.

/** Stable; scripts may rely on it. */
export type ProblemCode =
  /** The file cannot be read: missing, a directory, no permission, too large, not UTF-8. */
  | 'config-unreadable'
  /** Not YAML or JSON, or YAML with aliases or tags. */
  | 'config-syntax'
  | 'config-unknown-key'
  | 'config-missing-key'
  /** A value of the wrong type, unit, range or form. */
  | 'config-bad-value'
  /** An invalid combination of values. */
  | 'config-rule';

export interface ConfigProblem {
  readonly code: ProblemCode;
  /** Absolute path of the config file or seed file. */
  readonly file: string;
  /** Key path such as `cluster.agents[1].id`; empty for the whole file. */
  readonly path: string;
  /** From 1; 0 if the problem has no line. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** What to write instead; may be empty. */
  readonly remedy: string;
}

/** Maximum number of problems shown, so that they fit a terminal. The others are only counted. */
const SHOWN_MAX = 50;

/** @returns a line `file:line:column: path: message; remedy` for each problem */
export function formatProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.slice(0, SHOWN_MAX).map(formatProblem);
  if (problems.length > SHOWN_MAX) lines.push(`… and ${problems.length - SHOWN_MAX} more problems`);
  return lines.join('\n');
}

export function formatProblem(problem: ConfigProblem): string {
  const place = problem.line === 0 ? problem.file : `${problem.file}:${problem.line}`;
  const column = problem.column === 0 ? '' : `:${problem.column}`;
  const path = problem.path === '' ? '' : ` ${problem.path}:`;
  const remedy = problem.remedy === '' ? '' : `; ${problem.remedy}`;
  return `${place}${column}:${path} ${problem.message}${remedy}`;
}

/** @returns `cluster.agents[1].id` for `['cluster', 'agents', 1, 'id']` */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text;
}
