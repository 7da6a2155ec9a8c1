// What agents must agree on before they may crawl together, as canonical JSON that HELLO carries, and
// as a short hash for every heartbeat. Two fingerprints can be compared to name
// the first key that differs. Also the key of a crawl, by which `DATA/complete.json` tells whether
// it was this crawl that was completed. The agent's wiring calls all of it.

import { createHash } from 'node:crypto';
import { type Config, membersOf } from './config.ts';

/** Versions that are not the config's; passed in, since they live with the code they number. */
export interface FormatVersions {
  readonly protocol: number;
  readonly canonicalForm: number;
}

/**
 * The first key on which two fingerprints differ, `name` before all others; values as JSON, `absent`
 * where there is none.
 */
export interface Difference {
  readonly path: string;
  readonly a: string;
  readonly b: string;
}

/**
 * A HELLO must stay far below the frame's cap, and a scope may list a hundred thousand hosts: longer
 * lists are compared by hash.
 */
const listLengthMax = 4096;
/** Values come from strangers and go into logs and frames. */
const shownLengthMax = 200;
/** Deeper than any fingerprint of ours; a stranger's may be nested to exhaust the stack. */
const nestingMax = 16;

/** @returns canonical JSON of all settings that must agree; equal strings mean agreement. */
export function fingerprintOf(config: Config, versions: FormatVersions): string {
  const { replicas, backups, quorum, failureDetector } = config.cluster;
  const members = membersOf(config).map((member) => member.id);
  const ownDelays = Object.entries(config.politeness.hosts)
    .map(([pattern, { hostDelayMs }]) => `${pattern} ${hostDelayMs}`)
    .sort();
  return canonicalJson({
    name: config.name,
    version: versions,
    cluster: {
      replicas,
      backups,
      quorum,
      failureDetector,
      ...(quorum === 'majority' ? { agents: compact(members.toSorted()) } : {}),
    },
    scope: scopeOf(config),
    urls: { ...config.urls, dropParameters: namesOf(config.urls.dropParameters) },
    links: config.links,
    limits: config.limits,
    politeness: { ...config.politeness, hosts: compact(ownDelays) },
    http: { userAgent: config.http.userAgent },
  });
}

/** @returns the first 16 hexadecimal digits of the fingerprint's SHA-256. */
export function fingerprintHash(fingerprint: string): string {
  return sha256Hex(fingerprint).slice(0, 16);
}

/**
 * @param a - a fingerprint, possibly a stranger's: anything that is not one differs at the root
 * @returns the first difference, or null where they agree
 */
export function firstDifference(a: string, b: string): Difference | null {
  if (a === b) return null;
  const [left, right] = [parsed(a), parsed(b)];
  const found =
    left === undefined || right === undefined
      ? null
      : (nameOf(left, right) ?? differ(left, right, ''));
  return found ?? { path: '', a: a.slice(0, shownLengthMax), b: b.slice(0, shownLengthMax) };
}

/** @returns a hash that changes with the seeds, the limits or the scope, and with nothing else. */
export function crawlKey(config: Config): string {
  const seeds = [...new Set(config.seeds)].sort();
  const sitemaps = [...new Set(config.sitemaps)].sort();
  const what = {
    seeds,
    ...(sitemaps.length > 0 ? { sitemaps } : {}),
    limits: config.limits,
    scope: scopeOf(config),
  };
  return sha256Hex(canonicalJson(what)).slice(0, 32);
}

/** Order and repetition of hosts and expressions mean nothing, so they must not differ. */
function scopeOf({ scope }: Config) {
  return {
    hosts: compact([...new Set(scope.hosts)].sort()),
    include: compact([...new Set(scope.include)].sort()),
    exclude: compact([...new Set(scope.exclude)].sort()),
  };
}

/** Order, repetition and case mean nothing. */
function namesOf(names: readonly string[]) {
  return compact([...new Set(names.map((name) => name.toLowerCase()))].sort());
}

function compact(list: readonly string[]): readonly string[] | string {
  const text = JSON.stringify(list);
  return text.length <= listLengthMax
    ? list
    : `${list.length} entries, sha256 ${sha256Hex(text).slice(0, 32)}`;
}

/** JSON with sorted keys and no spaces. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(byKey)) : inner,
  );
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function differ(a: unknown, b: unknown, path: string): Difference | null {
  if (isRecord(a) && isRecord(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
      const inner = path === '' ? key : `${path}.${key}`;
      const found = differ(own(a, key), own(b, key), inner);
      if (found !== null) return found;
    }
    return null;
  }
  const [left, right] = [shown(a), shown(b)];
  if (JSON.stringify(a) === JSON.stringify(b)) return null;
  return { path: path.slice(0, shownLengthMax), a: left, b: right };
}

/** Another crawl differs in many settings; its name says best why. */
function nameOf(a: unknown, b: unknown): Difference | null {
  return isRecord(a) && isRecord(b) ? differ(own(a, 'name'), own(b, 'name'), 'name') : null;
}

function own(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  if (nestingOf(text) > nestingMax) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** At least the true one: brackets inside strings count too, which costs a less exact answer. */
function nestingOf(text: string): number {
  let [open, most] = [0, 0];
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    open += bracket === '[' || bracket === '{' ? 1 : -1;
    if (open > most) most = open;
  }
  return most;
}

function shown(value: unknown): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value);
  return text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}…` : text;
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
