// Rules between keys: values that are fine alone but not together. A rule names the keys that it
// reads and is left out where one of them is wrong in itself, so that it never complains about a
// default that merely stands in. Rules on agents read the raw list instead, and so still see two
// equal identifiers next to a wrong capacity. `load.ts` runs them all.

import { findCollision } from '../../assignment/collision.ts';
import type { ConfiguredMember } from '../config.ts';
import type { ParsedConfig } from '../keys/schema.ts';
import { endpointKey, isWildcard, parseEndpoint } from '../values/agent-endpoint.ts';
import { hostMatcher, hostOfSeed } from '../values/host.ts';
import { compilePattern } from '../values/linear-pattern.ts';
import { valueAt } from './issues.ts';

/** What a rule found; a warning does not stop the start. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly remedy: string;
}

/** What the rules look at. */
export interface Subject {
  /** As written, wrong values included. */
  readonly raw: unknown;
  /** Wrong values replaced by defaults. */
  readonly parsed: ParsedConfig;
  /** The seeds of the config and of its seed files. */
  readonly seeds: readonly string[];
  readonly members: readonly ConfiguredMember[];
  readonly sha256: (text: string) => Uint8Array;
}

interface Rule {
  /** Dotted keys; the rule is left out where one of them, or a part of it, is wrong. */
  readonly reads: readonly string[];
  readonly check: (subject: Subject) => Finding[];
}

/** Sixteen bytes and about a microsecond each, at every start of every command. */
const ringPointsMax = 1_000_000;

const RULES: readonly Rule[] = [
  { reads: [], check: repeatedAgents },
  { reads: [], check: wildcardsWithoutAddress },
  { reads: ['cluster.agents', 'cluster.replicas'], check: ringPoints },
  { reads: ['cluster.failureDetector'], check: heartbeats },
  { reads: ['cluster.agents', 'cluster.backups'], check: tooManyBackups },
  { reads: ['cluster.agents', 'cluster.quorum'], check: smallMajority },
  { reads: ['http.userAgent'], check: contact },
  { reads: ['seeds', 'seedFiles', 'scope.hosts'], check: seedsInScope },
  { reads: ['seeds', 'seedFiles', 'scope.exclude'], check: seedsExcluded },
  { reads: ['http.proxy', 'politeness.ipDelayMs'], check: addressesBehindProxy },
  { reads: ['agent.dataDir', 'seedFiles', 'seeds', 'http.tls'], check: unreplaced },
];

/** @param wrong - paths that the schema refused */
export function checkRules(
  subject: Subject,
  wrong: readonly (readonly PropertyKey[])[],
): Finding[] {
  const isSound = (key: string) => {
    const parts = key.split('.');
    return !wrong.some((path) =>
      parts.every((part, i) => i >= path.length || String(path[i]) === part),
    );
  };
  return RULES.filter((rule) => rule.reads.every(isSound)).flatMap((rule) => rule.check(subject));
}

function repeatedAgents({ raw }: Subject): Finding[] {
  const findings: Finding[] = [];
  const seen = new Map<string, number>();
  const note = (key: string, index: number, field: string, value: string) => {
    const first = seen.get(key);
    if (first === undefined) seen.set(key, index);
    else if (first !== index) {
      const message = `${JSON.stringify(value)} is also that of cluster.agents[${first}]`;
      const path = ['cluster', 'agents', index, field];
      findings.push(error(path, message, `give each agent its own ${field}`));
    }
  };
  for (const { index, id, listen, address } of rawAgents(raw)) {
    // Identifiers name directories, and some file systems fold case and accents.
    if (id !== null) note(`id ${id.normalize('NFC').toLowerCase()}`, index, 'id', id);
    const bound = listen === null ? null : parseEndpoint(listen);
    // Two machines may both listen on 0.0.0.0:7101; their addresses must differ.
    if (listen !== null && bound !== null && !isWildcard(bound)) {
      note(`at ${endpointKey(listen)}`, index, 'listen', listen);
    }
    if (address !== null) note(`at ${endpointKey(address)}`, index, 'address', address);
  }
  return findings;
}

function wildcardsWithoutAddress({ raw }: Subject): Finding[] {
  return rawAgents(raw).flatMap(({ index, listen, address, hasAddress }) => {
    const bound = listen === null ? null : parseEndpoint(listen);
    if (bound === null || !isWildcard(bound) || address !== null || hasAddress) return [];
    const remedy = `add for example "address: tcp://10.0.0.5:${bound.port}"`;
    const message = 'listens on every interface, so peers cannot tell where to connect';
    return [error(['cluster', 'agents', index, 'listen'], message, remedy)];
  });
}

function rawAgents(raw: unknown) {
  const agents = valueAt(raw, ['cluster', 'agents']);
  return (Array.isArray(agents) ? agents : []).map((entry: unknown, index) => ({
    index,
    id: textAt(entry, 'id'),
    listen: textAt(entry, 'listen'),
    address: textAt(entry, 'address'),
    hasAddress: valueAt(entry, ['address']) !== undefined,
  }));
}

function textAt(entry: unknown, key: string): string | null {
  const value = valueAt(entry, [key]);
  return typeof value === 'string' ? value : null;
}

function ringPoints({ parsed, members, sha256 }: Subject): Finding[] {
  const { replicas } = parsed.cluster;
  const points = members.reduce(
    (sum, member) => sum + Math.max(1, Math.round(member.capacity * replicas)),
    0,
  );
  if (points > ringPointsMax) {
    const message = `the ring would have ${points} points, more than ${ringPointsMax}`;
    return [error(['cluster', 'replicas'], message, 'lower replicas, or every capacity alike')];
  }
  const ids = new Set(members.map((member) => member.id));
  // Repeated identifiers are reported by their own rule; on the ring they would be nonsense.
  if (ids.size < members.length) return [];
  const collision = findCollision(members, { replicas, sha256 });
  if (collision === null) return [];
  const { a, b } = collision;
  const index = members.findIndex((member) => member.id === b);
  const path = typeof parsed.cluster.agents === 'number' ? [] : [index, 'id'];
  const message = `${JSON.stringify(a)} and ${JSON.stringify(b)} share a point of the ring`;
  const remedy = `choose another identifier for ${JSON.stringify(b)}`;
  return [error(['cluster', 'agents', ...path], message, remedy)];
}

function heartbeats({ parsed }: Subject): Finding[] {
  const { heartbeatMs, suspectAfterMs } = parsed.cluster.failureDetector;
  if (heartbeatMs * 3 <= suspectAfterMs) return [];
  const message =
    `heartbeatMs × 3 must not exceed suspectAfterMs, or two lost heartbeats are a death; ` +
    `they are ${heartbeatMs} and ${suspectAfterMs}`;
  const remedy = `raise suspectAfterMs to ${heartbeatMs * 3}, or lower heartbeatMs`;
  return [error(['cluster', 'failureDetector', 'suspectAfterMs'], message, remedy)];
}

function tooManyBackups({ raw, parsed, members }: Subject): Finding[] {
  const { backups } = parsed.cluster;
  // One agent with the default is the plainest config there is; nobody needs to hear of it.
  if (backups < members.length || valueAt(raw, ['cluster', 'backups']) === undefined) return [];
  const message = `${backups} backups need ${backups + 1} agents, and there are ${members.length}`;
  return [warning(['cluster', 'backups'], message, 'add agents, or lower backups')];
}

function smallMajority({ parsed, members }: Subject): Finding[] {
  if (parsed.cluster.quorum !== 'majority' || members.length !== 2) return [];
  const message = 'a majority of two agents is both, so that the death of one stops the crawl';
  return [warning(['cluster', 'quorum'], message, 'use three agents or more')];
}

function contact({ parsed }: Subject): Finding[] {
  if (/https?:\/\/[^\s/]|[^\s@]@[^\s@]+\.[^\s@]/i.test(parsed.http.userAgent)) return [];
  const message = 'has no contact, so that an operator who is troubled can only block you';
  const remedy = 'add a URL or mail address, as in "my-crawl (+https://example.org/bot)"';
  return [warning(['http', 'userAgent'], message, remedy)];
}

function seedsInScope({ parsed, seeds }: Subject): Finding[] {
  const { hosts } = parsed.scope;
  if (hosts === undefined) return [];
  const matches = hostMatcher(hosts);
  const outside = seeds.filter((seed) => !matches(hostOfSeed(seed) ?? ''));
  if (outside.length === 0) return [];
  const first = JSON.stringify(outside[0]!.slice(0, 200));
  const message = `leaves out ${outside.length} of ${seeds.length} seeds, the first being ${first}`;
  return [warning(['scope', 'hosts'], message, 'add their hosts, or remove the seeds')];
}

/** They would end as skipped. `include` says where to go from them, not where to start. */
function seedsExcluded({ parsed, seeds }: Subject): Finding[] {
  const patterns = parsed.scope.exclude.map(compilePattern);
  const excludes = (seed: string) =>
    patterns.some((compiled) => compiled.ok && compiled.pattern.test(canonicalSeed(seed)));
  const outside = patterns.length === 0 ? [] : seeds.filter(excludes);
  if (outside.length === 0) return [];
  const first = JSON.stringify(outside[0]!.slice(0, 200));
  const message = `leaves out ${outside.length} of ${seeds.length} seeds, the first being ${first}`;
  return [warning(['scope', 'exclude'], message, 'narrow the expressions, or remove the seeds')];
}

/** Near enough to the canonical form for a warning. */
function canonicalSeed(seed: string): string {
  const url = URL.parse(seed);
  return url === null ? seed : url.href.slice(0, url.href.length - url.hash.length);
}

/** Whoever connects through a proxy does not learn to whom. */
function addressesBehindProxy({ parsed }: Subject): Finding[] {
  const path = ['politeness', 'ipDelayMs'];
  const delayMs = valueAt(parsed, path);
  const proxy = valueAt(parsed, ['http', 'proxy']);
  if (delayMs === 0 || typeof proxy !== 'string') return [];
  const message = 'has no effect through http.proxy, behind which addresses are not known';
  return [warning(path, message, 'use politeness.hostDelayMs, or no proxy')];
}

/** What a shell would replace is taken as it stands here. */
function unreplaced({ parsed }: Subject): Finding[] {
  const { ca } = parsed.http.tls;
  const texts: (readonly [path: readonly PropertyKey[], text: string])[] = [
    [['agent', 'dataDir'], parsed.agent.dataDir],
    ...parsed.seedFiles.map((text, k) => [['seedFiles', k], text] as const),
    ...parsed.seeds.map((text, k) => [['seeds', k], text] as const),
    ...(ca === null ? [] : [[['http', 'tls', 'ca'], ca] as const]),
  ];
  return texts.flatMap(([path, text]) => {
    if (!/^~(?:\/|$)|\$\{\w+\}/.test(text)) return [];
    const message = `is taken as it stands: ${JSON.stringify(text.slice(0, 200))}`;
    return [warning(path, message, `write it out: neither ~ nor $\{NAME} is replaced`)];
  });
}

function error(path: readonly PropertyKey[], message: string, remedy: string): Finding {
  return { severity: 'error', path, message, remedy };
}

function warning(path: readonly PropertyKey[], message: string, remedy: string): Finding {
  return { severity: 'warning', path, message, remedy };
}
