// Converts zod's issues to config problems with a line, a message that names the value, and a remedy
// from the key's example.

import type { z } from 'zod';
import { type ConfigKey, configKeys } from '../keys/json-schema.ts';
import { type ConfigProblem, type ProblemCode, pathText } from './problem.ts';
import type { ConfigSource } from './source.ts';
import { nearest } from './suggestion.ts';

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;

/** Characters of a value in a message. */
const SHOWN_LENGTH_MAX = 60;

/** @returns a problem for each invalid value and each unknown key */
export function problemsOf(
  issues: readonly Issue[],
  values: unknown,
  source: ConfigSource,
): ConfigProblem[] {
  const keys = new Map(configKeys().map((key) => [key.path, key]));
  // A bound of a list is also checked against the length of a string.
  const mistyped = issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => path);
  const isSecond = ({ code, path }: Issue) =>
    ['too_big', 'too_small'].includes(code) && mistyped.some((one) => one.join() === path.join());
  return issues
    .filter((issue) => !isSecond(issue))
    .flatMap((issue) => problemsOfIssue(issue, [], values, source, keys));
}

/** @returns the paths of the invalid values and of the unknown keys */
export function pathsOf(issues: readonly Issue[], values: unknown): Path[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...issue.path, key]);
    if (issue.code !== 'invalid_union') return [issue.path];
    const value = valueAt(values, issue.path);
    const branch = intendedVariant(issue, value);
    if (branch === null) return [issue.path];
    return pathsOf(branch, value).map((path) => [...issue.path, ...path]);
  });
}

function problemsOfIssue(
  issue: Issue,
  prefix: Path,
  values: unknown,
  source: ConfigSource,
  keys: ReadonlyMap<string, ConfigKey>,
): ConfigProblem[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => unknownKey([...path, key], source, keys));
  }
  // The key of a record is invalid, for the reasons in `issues`.
  if (issue.code === 'invalid_key') {
    const inner = issue.issues as readonly Issue[];
    return inner.flatMap((wrong) => problemsOfIssue(wrong, path, values, source, keys));
  }
  const value = valueAt(values, path);
  if (issue.code === 'invalid_union') {
    const branch = intendedVariant(issue, value);
    if (branch !== null) {
      return branch.flatMap((inner) => problemsOfIssue(inner, path, values, source, keys));
    }
  }
  const key = keys.get(keyPath(path));
  const { code, message, remedy } = describe(issue, value, path, key);
  return [source.problem(code, path, message, remedy)];
}

/** The issues of the only variant of a union that the value can have been meant for, or null. */
function intendedVariant(
  issue: Issue & { code: 'invalid_union' },
  value: unknown,
): readonly Issue[] | null {
  const meant = issue.errors.filter((branch) =>
    branch.every(
      (inner) =>
        inner.code !== 'invalid_type' ||
        inner.path.length > 0 ||
        (inner.expected === 'int' && typeof value === 'number'),
    ),
  );
  return meant.length === 1 ? (meant[0] as readonly Issue[]) : null;
}

function unknownKey(path: Path, source: ConfigSource, keys: ReadonlyMap<string, ConfigKey>) {
  const word = String(path.at(-1));
  const parent = keyPath(path.slice(0, -1));
  const siblings = [...keys.keys()].filter((known) => parentOf(known) === parent).map(lastOf);
  const near = nearest(word, siblings);
  const elsewhere = [...keys.keys()].find((known) => lastOf(known) === word);
  const remedy =
    near.length > 0
      ? `did you mean ${near.map((key) => `"${key}"`).join(' or ')}?`
      : elsewhere !== undefined
        ? `did you mean ${elsewhere}?`
        : siblings.length > 0
          ? `known here: ${siblings.join(', ')}`
          : exampleAround(path, keys);
  return source.problem('config-unknown-key', path, 'unknown key', remedy);
}

/** The entries of a map have no keys of their own in `keys`. */
function exampleAround(path: Path, keys: ReadonlyMap<string, ConfigKey>): string {
  for (let end = path.length - 1; end > 0; end--) {
    const around = path.slice(0, end);
    const example = exampleOf(keys.get(keyPath(around)), around);
    if (example !== '') return example;
  }
  return 'remove it';
}

function describe(
  issue: Issue,
  value: unknown,
  path: Path,
  key: ConfigKey | undefined,
): { code: ProblemCode; message: string; remedy: string } {
  const code = 'config-bad-value';
  const remedy = exampleOf(key, path);
  if (value === undefined) {
    return { code: 'config-missing-key', message: 'is missing', remedy };
  }
  if (value === null) {
    const without = 'remove the key to use its default, or set a value';
    return { code, message: 'has no value', remedy: without };
  }
  if (issue.code === 'custom') {
    const own = issue.params?.remedy;
    return { code, message: issue.message, remedy: typeof own === 'string' ? own : remedy };
  }
  if (issue.code === 'invalid_format' || issue.code === 'invalid_union') {
    // The schema's message: what is wrong, a semicolon, what to write.
    const [what, hint] = issue.message.split('; ', 2);
    return { code, message: `${what}: ${shown(value)}`, remedy: hint ?? remedy };
  }
  return { code, message: `${requirementOf(issue)}, not ${shown(value)}`, remedy };
}

function requirementOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'too_small':
    case 'too_big':
      return `must ${boundOf(issue)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    default:
      return issue.message;
  }
}

const TYPES: Readonly<Partial<Record<string, string>>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys',
};

function boundOf(issue: Issue & { code: 'too_small' | 'too_big' }): string {
  const verb = issue.origin === 'string' || issue.origin === 'array' ? 'have' : 'be';
  const unit =
    issue.origin === 'string' ? ' characters' : issue.origin === 'array' ? ' entries' : '';
  if (issue.code === 'too_small') {
    return `${verb} ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unit}`;
  }
  return `${verb} ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unit}`;
}

function exampleOf(key: ConfigKey | undefined, path: Path): string {
  if (key === undefined || key.example === undefined) return '';
  if (typeof path.at(-1) === 'number') return `for example ${JSON.stringify(key.example)}`;
  return `for example "${lastOf(key.path)}: ${yamlInline(key.example)}"`;
}

function yamlInline(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value).replaceAll('"', "'");
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
}

/** @returns the value at a path; undefined if there is none */
export function valueAt(values: unknown, path: Path): unknown {
  let value = values;
  for (const part of path) {
    if (value === null || typeof value !== 'object') return undefined;
    if (!Object.hasOwn(value, part)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}

/** A path as in `ConfigKey`, with `[]` for list positions. */
function keyPath(path: Path): string {
  return pathText(path).replaceAll(/\[\d+\]/g, '[]');
}

function parentOf(path: string): string {
  return path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : '';
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
