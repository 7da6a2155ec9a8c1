// Loads a config file. The schema checks single keys, and the rules check combinations of keys. All
// problems are reported at once, with their lines. Precedence: the caller's `dataDir` (--data), the
// file, the defaults.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Config, membersOf } from '../config.ts';
import { configSchema, type ParsedConfig } from '../keys/schema.ts';
import { hostOfSeed } from '../values/host.ts';
import { pathsOf, problemsOf, valueAt } from './issues.ts';
import { type ConfigProblem, formatProblem } from './problem.ts';
import { checkRules, type Finding } from './rules.ts';
import { readSeedFile, seedsMax } from './seed-file.ts';
import { type ConfigSource, readSource } from './source.ts';

export interface LoadOptions {
  /** The directory to which `file` and `dataDir` are relative. */
  readonly cwd: string;
  /** Replaces `agent.dataDir` of the file. */
  readonly dataDir?: string | undefined;
  /** Whether only the name, the data directory and `cluster` must be valid. See `ignored`. */
  readonly part?: boolean | undefined;
  /** Replaces SHA-256 in tests of the collision rule. */
  readonly sha256?: (text: string) => Uint8Array;
}

export type LoadedConfig =
  | {
      readonly ok: true;
      readonly config: Config;
      readonly warnings: readonly string[];
      /** With `part`: problems of seed files and other keys. Invalid values have their defaults. */
      readonly ignored: readonly ConfigProblem[];
    }
  | {
      readonly ok: false;
      readonly problems: readonly ConfigProblem[];
      /** Invalid values have their defaults; absent: the file cannot be parsed. */
      readonly monitor?: Config['monitor'];
    };

/** Reads and checks a config file and its seed files. Has no side effects. */
export function loadConfig(file: string, options: LoadOptions): LoadedConfig {
  const absolute = path.resolve(options.cwd, file);
  const read = readSource(absolute);
  if (!read.ok) return read;
  const { source } = read;

  const raw = source.values();
  const first = configSchema.safeParse(raw);
  const issues = first.error?.issues ?? [];
  const wrong = pathsOf(issues, raw);
  const problems = problemsOf(issues, raw, source);
  const parsed = first.success ? first.data : parsedWithout(raw, wrong);

  const seedFiles = parsed.seedFiles.map((name) => path.resolve(path.dirname(absolute), name));
  const inlineSeeds = parsed.seeds.map((seed) => seed.trim());
  const before = problems.length;
  const fromFiles = seedsOfFiles(seedFiles, source, problems);
  const seeds = inlineSeeds.concat(fromFiles);
  if (seeds.length > seedsMax) {
    const message = `there are ${seeds.length} seeds, more than ${seedsMax}`;
    problems.push(source.problem('config-rule', ['seedFiles'], message, 'split the crawl'));
  }
  const startKeys: unknown[] = ['seeds', 'seedFiles', 'sitemaps'];
  const soundSeeds = !wrong.some(([key]) => startKeys.includes(key));
  const started = seeds.length > 0 || parsed.sitemaps.length > 0;
  if (!started && soundSeeds && problems.length === before) {
    problems.push(noSeeds(raw, source));
  }

  const own = { file: absolute, seeds, inlineSeeds, seedFiles };
  const config = configOf(parsed, { ...own, options, raw });
  const { ca } = config.http.tls;
  if (ca !== null) problems.push(...authorityProblems(ca, source));
  const sha256 = options.sha256 ?? sha256Of;
  const subject = { raw, parsed, seeds, members: membersOf(config), sha256 };
  const { errors, warnings } = split(checkRules(subject, wrong), source);
  problems.push(...errors);
  const fatal = options.part ? problems.filter((one) => isOfCluster(one, absolute)) : problems;
  if (fatal.length > 0) {
    return { ok: false, problems: sorted(fatal, absolute), monitor: config.monitor };
  }
  return { ok: true, config, warnings: warnings.map(formatProblem), ignored: problems };
}

/** Whether the problem concerns the name of the crawl, the agents or the data directory. */
function isOfCluster({ file, path: key }: ConfigProblem, own: string): boolean {
  return file === own && /^(|name|agent|agent\.dataDir|cluster([.[].*)?)$/.test(key);
}

function configOf(
  parsed: ParsedConfig,
  from: Pick<Config, 'file' | 'seeds' | 'inlineSeeds' | 'seedFiles'> & {
    options: LoadOptions;
    raw: unknown;
  },
): Config {
  const { file, seeds, inlineSeeds, seedFiles, options, raw } = from;
  const { agents } = parsed.cluster;
  const { include, exclude } = parsed.scope;
  const starts = seeds.length > 0 ? seeds : parsed.sitemaps;
  const hosts = parsed.scope.hosts ?? starts.map((seed) => hostOfSeed(seed) ?? '');
  const dataDir =
    options.dataDir === undefined
      ? path.resolve(path.dirname(file), parsed.agent.dataDir)
      : path.resolve(options.cwd, options.dataDir);
  const { ca } = parsed.http.tls;
  const caFile = ca === null ? null : path.resolve(path.dirname(file), ca);
  const { tokens } = parsed.monitor;
  const tokensFile = tokens === null ? null : path.resolve(path.dirname(file), tokens);
  return {
    ...parsed,
    monitor: { ...parsed.monitor, tokens: tokensFile },
    http: { ...parsed.http, tls: { ...parsed.http.tls, ca: caFile } },
    file,
    seeds,
    inlineSeeds,
    seedFiles,
    scope: { hosts: [...new Set(hosts)], include, exclude },
    cluster: {
      ...parsed.cluster,
      agents:
        typeof agents === 'number'
          ? numberOrNone(agents, parsed, raw)
          : agents.map(({ id, listen, address, capacity }) => {
              return { id, listen, address: address ?? listen, capacity };
            }),
    },
    agent: { ...parsed.agent, dataDir },
  };
}

/** With contacts and without `agents`, the config names no agents. */
function numberOrNone(agents: number, { cluster }: ParsedConfig, raw: unknown): number | [] {
  const isGiven = valueAt(raw, ['cluster', 'agents']) !== undefined;
  return isGiven || cluster.contacts.length === 0 ? agents : [];
}

/** Returns the seeds of all files, and adds the problems of the files to `problems`. */
function seedsOfFiles(files: readonly string[], source: ConfigSource, problems: ConfigProblem[]) {
  return files.flatMap((file, index) => {
    const read = readSeedFile(file);
    if (read.kind === 'unreadable') {
      const at = ['seedFiles', index];
      const message = `seed file ${file} ${read.message}`;
      problems.push(source.problem('config-bad-value', at, message, read.remedy));
      return [];
    }
    problems.push(...read.problems);
    return read.seeds;
  });
}

/** Checked before the start, because without the authorities the crawl may fail on every host. */
function authorityProblems(file: string, source: ConfigSource): ConfigProblem[] {
  let message = `${file} contains no certificate`;
  try {
    if (readFileSync(file, 'utf8').includes('-----BEGIN CERTIFICATE-----')) return [];
  } catch (error) {
    message = `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
  }
  const remedy = 'write the path of a PEM file with certificates, relative to the config';
  return [source.problem('config-bad-value', ['http', 'tls', 'ca'], message, remedy)];
}

function noSeeds(raw: unknown, source: ConfigSource): ConfigProblem {
  const missing = ['seeds', 'seedFiles'].every((key) => valueAt(raw, [key]) === undefined);
  const code = missing ? 'config-missing-key' : 'config-bad-value';
  const message = missing ? 'is missing' : 'there is no seed here, in seedFiles or in sitemaps';
  const at = valueAt(raw, ['seeds']) === undefined && !missing ? ['seedFiles'] : ['seeds'];
  return source.problem(code, at, message, 'for example "seeds: [https://example.org/]"');
}

/**
 * Removes the invalid values, so that their defaults are used. A list with an invalid entry is
 * removed as a whole, because the positions of its other entries would change, and an entry of a map
 * without a key that it needs.
 */
function parsedWithout(raw: unknown, wrong: readonly (readonly PropertyKey[])[]): ParsedConfig {
  const values: unknown = structuredClone(raw);
  for (let paths = wrong; ; ) {
    const removed = paths.filter((steps) => removeAt(values, steps));
    const parsed = configSchema.safeParse(values);
    if (parsed.success) return parsed.data;
    // Each repetition removes something.
    if (removed.length === 0) throw parsed.error;
    paths = pathsOf(parsed.error.issues, values);
  }
}

/** Removes the value, or the innermost one around it that exists; false if there is none. */
function removeAt(values: unknown, steps: readonly PropertyKey[]): boolean {
  const list = steps.findIndex((step) => typeof step === 'number');
  let keys = list === -1 ? steps : steps.slice(0, list);
  while (keys.length > 1 && valueAt(values, keys) === undefined) keys = keys.slice(0, -1);
  const parent = valueAt(values, keys.slice(0, -1));
  const [last] = keys.slice(-1);
  if (parent === null || typeof parent !== 'object' || last === undefined) return false;
  return Object.hasOwn(parent, last) && Reflect.deleteProperty(parent, last);
}

function split(findings: readonly Finding[], source: ConfigSource) {
  const of = (severity: Finding['severity']) =>
    findings
      .filter((finding) => finding.severity === severity)
      .map(({ path, message, remedy }) => source.problem('config-rule', path, message, remedy));
  return { errors: of('error'), warnings: of('warning') };
}

/** Problems of the config come before those of seed files; within a file, by line. */
function sorted(problems: readonly ConfigProblem[], own: string): readonly ConfigProblem[] {
  const foreign = (problem: ConfigProblem) => (problem.file === own ? 0 : 1);
  const line = (problem: ConfigProblem) => problem.line || Number.MAX_SAFE_INTEGER;
  return problems.toSorted((a, b) => {
    if (foreign(a) !== foreign(b)) return foreign(a) - foreign(b);
    return a.file === b.file ? line(a) - line(b) || a.column - b.column : 0;
  });
}

function sha256Of(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
