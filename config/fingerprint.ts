// The fingerprint: all settings on which agents must agree, as canonical JSON for HELLO and as a
// short hash for heartbeats. Comparing two fingerprints gives the first key that differs. The crawl
// key shows whether `DATA/complete.json` belongs to this crawl.

import { createHash } from 'node:crypto';
import { type Config, membersOf } from './config.ts';

/** A key on which two fingerprints differ. Its values are JSON, or `absent`. */
export interface Difference {
  readonly path: string;
  readonly a: string;
  readonly b: string;
}

/**
 * Characters of a list as JSON; longer lists are replaced by their hash. A scope may have 100,000
 * hosts, and a HELLO must stay far below the limit of a frame.
 */
const listLengthMax = 4096;
/** Characters of a value in a difference: values of unknown agents go into logs and frames. */
const shownLengthMax = 200;
/** Nesting of a fingerprint. Valid ones are flatter; a forged one must not overflow the stack. */
const nestingMax = 16;

/**
 * @param versions - of the protocol and of canonical URLs, which must also agree
 * @returns canonical JSON of all settings that must agree
 */
export function fingerprintOf(
  config: Config,
  versions: { readonly protocol: number; readonly canonicalForm: number },
): string {
  const { overlay, kademlia, replicas, backups, quorum, failureDetector } = config.cluster;
  const members = membersOf(config).map((member) => member.id);
  const ownDelays = Object.entries(config.politeness.hosts)
    .map(([pattern, { hostDelayMs }]) => `${pattern} ${hostDelayMs}`)
    .sort();
  return canonicalJson({
    name: config.name,
    version: versions,
    cluster: {
      overlay,
      kademlia,
      replicas,
      backups,
      quorum,
      failureDetector,
      ...(quorum === 'majority' ? { agents: compact(members.toSorted()) } : {}),
    },
    scope: scopeOf(config),
    urls: {
      ...config.urls,
      dropParameters: compactSet(config.urls.dropParameters.map((name) => name.toLowerCase())),
    },
    links: config.links,
    limits: config.limits,
    politeness: { ...config.politeness, hosts: compact(ownDelays) },
    http: { userAgent: config.http.userAgent },
    ...(config.dedup.mode === 'redis' ? { dedup: config.dedup } : {}),
  });
}

/** @returns the first 16 hexadecimal digits of the SHA-256 hash */
export function fingerprintHash(fingerprint: string): string {
  return sha256Hex(fingerprint).slice(0, 16);
}

/**
 * Compares two fingerprints, which may come from unknown agents. A text that is not a fingerprint
 * differs at the root.
 *
 * @returns the first difference, with `name` before all other keys; null if there is none
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

/** What all networks that share a crawl must agree on, as JSON. */
export function sharedSettingsOf(config: Config): string {
  const { dedup } = config;
  const networks = sortedSet(Object.keys(dedup.networks));
  const shared = { dedup: { networks, leaseMs: dedup.leaseMs }, urls: urlsOf(config) };
  return canonicalJson(shared);
}

/** The rules that identify URLs, as JSON. */
export function urlRulesText(config: Config): string {
  return canonicalJson(urlsOf(config));
}

/** @returns a hash of the seeds, the sitemaps, the limits and the scope */
export function crawlKey(config: Config): string {
  const sitemaps = sortedSet(config.sitemaps);
  const what = {
    seeds: sortedSet(config.seeds),
    ...(sitemaps.length > 0 ? { sitemaps } : {}),
    limits: config.limits,
    scope: scopeOf(config),
  };
  return sha256Hex(canonicalJson(what)).slice(0, 32);
}

/** @returns a hash of the settings that decide which links of a page are followed or stored */
export function linkRulesHash(config: Config): string {
  const rules = {
    ...{ scope: scopeOf(config), links: config.links, urls: urlsOf(config) },
    // Absent by default, so that state files of earlier builds have the same hash.
    ...(config.archive.links && { stored: true }),
  };
  return sha256Hex(canonicalJson(rules)).slice(0, 32);
}

function urlsOf({ urls }: Config) {
  const dropParameters = sortedSet(urls.dropParameters.map((name) => name.toLowerCase()));
  return { ...urls, dropParameters };
}

function scopeOf({ scope }: Config) {
  return {
    hosts: compactSet(scope.hosts),
    include: compactSet(scope.include),
    exclude: compactSet(scope.exclude),
  };
}

/** Lists that differ only in order and repetition are equal. */
function sortedSet(list: readonly string[]): readonly string[] {
  return [...new Set(list)].sort();
}

function compactSet(list: readonly string[]) {
  return compact(sortedSet(list));
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
    isRecord(inner)
      ? Object.fromEntries(
          Object.keys(inner)
            .sort()
            .map((key) => [key, inner[key]]),
        )
      : inner,
  );
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
  if (JSON.stringify(a) === JSON.stringify(b)) return null;
  return { path: path.slice(0, shownLengthMax), a: shown(a), b: shown(b) };
}

/** Another crawl differs in many settings; its name is the clearest difference. */
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

/** Depth of nesting. Brackets inside strings count too, so the result may be too high. */
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
