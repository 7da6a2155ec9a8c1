// Rules for combinations of keys. A rule is skipped if one of the keys that it reads is invalid,
// because it would check a default that replaces the value. The rules for the list of agents read
// the raw values instead, so they report equal identifiers even beside an invalid capacity.

import { findCollision } from '../../assignment/collision.ts';
import type { ConfiguredMember } from '../config.ts';
import { cluster } from '../keys/cluster-keys.ts';
import type { ParsedConfig } from '../keys/schema.ts';
import { endpointKey, isWildcard, parseEndpoint } from '../values/agent-endpoint.ts';
import { hostMatcher, hostOfSeed } from '../values/host.ts';
import { compilePattern } from '../values/linear-pattern.ts';
import { parseRedisUrl, passwordVariable } from '../values/redis-url.ts';
import { valueAt } from './issues.ts';

/** A warning does not prevent the start. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly remedy: string;
}

export interface Subject {
  /** As written, including invalid values. */
  readonly raw: unknown;
  /** With defaults in place of invalid values. */
  readonly parsed: ParsedConfig;
  /** The seeds of the config and of its seed files. */
  readonly seeds: readonly string[];
  readonly members: readonly ConfiguredMember[];
  readonly sha256: (text: string) => Uint8Array;
}

interface Rule {
  /** Dotted keys. The rule is skipped if one of them, or a part of it, is invalid. */
  readonly reads: readonly string[];
  readonly check: (subject: Subject) => Finding[];
}

/** A point takes 16 bytes and about a microsecond at the start of each command. */
const ringPointsMax = 1_000_000;

/** An identifier takes about 100 bytes and some microseconds at the start of each command. */
const identifiersMax = 100_000;
/** Heartbeats with more are refused. */
export const identifiersOfAgentMax = 8192;

const RULES: readonly Rule[] = [
  { reads: [], check: repeatedAgents },
  { reads: [], check: wildcardsWithoutAddress },
  { reads: ['cluster.agents', 'cluster.overlay', 'cluster.replicas'], check: ringPoints },
  { reads: ['cluster.agents', 'cluster.kademlia.ids'], check: identifiers },
  { reads: ['cluster.backups', 'cluster.kademlia.neighbourhood'], check: smallNeighbourhood },
  { reads: ['cluster.overlay', 'cluster.agents', 'cluster.contacts'], check: noAgents },
  { reads: ['cluster.overlay', 'cluster.kademlia', 'cluster.replicas'], check: unusedParameters },
  { reads: ['cluster.overlay', 'cluster.contacts'], check: contactsOfRing },
  { reads: ['cluster.agents', 'cluster.contacts'], check: numberedAgents },
  { reads: ['cluster.quorum'], check: needsAllAgents },
  { reads: ['cluster.failureDetector'], check: heartbeats },
  { reads: ['cluster.failureDetector', 'politeness.ipDelayMs'], check: addressHeartbeats },
  { reads: ['cluster.agents', 'cluster.backups'], check: tooManyBackups },
  { reads: ['cluster.agents', 'cluster.quorum'], check: smallMajority },
  { reads: ['http.userAgent'], check: contact },
  { reads: ['seeds', 'seedFiles', 'scope.hosts'], check: seedsInScope },
  { reads: ['seeds', 'seedFiles', 'scope.exclude'], check: seedsExcluded },
  { reads: ['http.proxy', 'politeness.ipDelayMs'], check: addressesBehindProxy },
  { reads: ['dedup.mode', 'dedup.network', 'dedup.networks'], check: ownNetwork },
  { reads: ['dedup.networks'], check: passwordsInUrls },
  { reads: ['dedup.leaseMs', 'dedup.timeoutMs'], check: shortLease },
  { reads: ['agent.dataDir', 'seedFiles', 'seeds', 'http.tls'], check: unreplaced },
];

/** @param wrong - paths of invalid values and unknown keys */
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
      const message = `${JSON.stringify(value)} is also used by cluster.agents[${first}]`;
      const path = ['cluster', 'agents', index, field];
      findings.push(error(path, message, `give each agent its own ${field}`));
    }
  };
  for (const { index, id, listen, address } of rawAgents(raw)) {
    // Identifiers are names of directories, and some file systems ignore case and accents.
    if (id !== null) note(`id ${id.normalize('NFC').toLowerCase()}`, index, 'id', id);
    const bound = listen === null ? null : parseEndpoint(listen);
    // Two machines may both listen on 0.0.0.0:7101, but their addresses must differ.
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
    const message = 'listens on all interfaces, so peers do not know where to connect';
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
  const { overlay, replicas } = parsed.cluster;
  if (overlay !== 'ring') return [];
  const points = members.reduce(
    (sum, member) => sum + Math.max(1, Math.round(member.capacity * replicas)),
    0,
  );
  if (points > ringPointsMax) {
    const message = `the ring would have ${points} points, more than ${ringPointsMax}`;
    return [error(['cluster', 'replicas'], message, 'lower replicas, or all capacities')];
  }
  const ids = new Set(members.map((member) => member.id));
  // A ring needs unique identifiers. Another rule reports repeated ones.
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

function identifiers({ parsed, members }: Subject): Finding[] {
  const { overlay, kademlia } = parsed.cluster;
  if (overlay !== 'kademlia') return [];
  const counts = members.map(({ capacity }) => Math.max(1, Math.round(capacity * kademlia.ids)));
  const most = Math.max(...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const path = ['cluster', 'kademlia', 'ids'];
  const remedy = 'lower ids, or all capacities';
  if (most > identifiersOfAgentMax) {
    const message = `an agent would have ${most} identifiers, more than ${identifiersOfAgentMax}`;
    return [error(path, message, remedy)];
  }
  if (total <= identifiersMax) return [];
  const message = `the agents would have ${total} identifiers, more than ${identifiersMax}`;
  return [error(path, message, remedy)];
}

/** The owner of a host, its backups, the lease grantor and the next agent must know each other. */
function smallNeighbourhood({ raw, parsed }: Subject): Finding[] {
  const { overlay, kademlia, backups } = parsed.cluster;
  const least = backups + 3;
  if (overlay !== 'kademlia' || kademlia.neighbourhood >= least) return [];
  const path = ['cluster', 'kademlia', 'neighbourhood'];
  if (valueAt(raw, path) === undefined) {
    const message = `${backups} backups need cluster.kademlia.neighbourhood ${least} or more`;
    const remedy = `add "kademlia: { neighbourhood: ${least} }", or lower backups`;
    return [error(['cluster', 'backups'], message, remedy)];
  }
  const message = `${kademlia.neighbourhood} is less than cluster.backups + 3, which is ${least}`;
  const remedy = `raise neighbourhood to ${least}, or lower cluster.backups`;
  return [error(path, message, remedy)];
}

/** A lone agent is the default of the ring only: nobody could join it. */
function noAgents({ raw, parsed, members }: Subject): Finding[] {
  const { overlay, contacts } = parsed.cluster;
  const isMeant = overlay === 'ring' || valueAt(raw, ['cluster', 'agents']) !== undefined;
  if ((members.length > 0 && isMeant) || contacts.length > 0) return [];
  const remedy = 'list the agents, write their number, or add cluster.contacts (kademlia)';
  return [error(['cluster', 'agents'], 'names no agent', remedy)];
}

function contactsOfRing({ parsed }: Subject): Finding[] {
  const { overlay, contacts } = parsed.cluster;
  if (overlay === 'kademlia' || contacts.length === 0) return [];
  const message = 'need cluster.overlay: kademlia: on the ring, agents need the list of all agents';
  const remedy = 'list the agents in cluster.agents, or write "overlay: kademlia"';
  return [error(['cluster', 'contacts'], message, remedy)];
}

/** Parameters of the other overlay. Default values may be written out. */
function unusedParameters({ parsed }: Subject): Finding[] {
  const defaults = cluster.parse({});
  const { overlay } = parsed.cluster;
  const key = overlay === 'ring' ? 'kademlia' : 'replicas';
  if (JSON.stringify(parsed.cluster[key]) === JSON.stringify(defaults[key])) return [];
  const other = overlay === 'ring' ? 'kademlia' : 'ring';
  const message = `has no effect with cluster.overlay: ${overlay}`;
  return [warning(['cluster', key], message, `remove it, or write "overlay: ${other}"`)];
}

/** Only a contact begins a cluster, and the ports of numbered agents are not known beforehand. */
function numberedAgents({ raw, parsed }: Subject): Finding[] {
  if (parsed.cluster.contacts.length === 0) return [];
  if (typeof valueAt(raw, ['cluster', 'agents']) !== 'number') return [];
  const message = 'get free ports, which are no cluster.contacts: they wait for other agents';
  const remedy = 'list the agents with their endpoints, or remove cluster.contacts';
  return [warning(['cluster', 'agents'], message, remedy)];
}

/** What agents that know only their neighbours cannot do. */
function needsAllAgents({ parsed }: Subject): Finding[] {
  const { cluster } = parsed;
  if (cluster.overlay !== 'kademlia') return [];
  const findings: Finding[] = [];
  if (cluster.quorum === 'majority') {
    const message =
      'a majority needs the list of all agents, and with cluster.overlay: kademlia no agent has it';
    const remedy = 'write "quorum: none", or "overlay: ring"';
    findings.push(error(['cluster', 'quorum'], message, remedy));
  }
  return findings;
}

function heartbeats({ parsed }: Subject): Finding[] {
  const { heartbeatMs, suspectAfterMs } = parsed.cluster.failureDetector;
  if (heartbeatMs * 3 <= suspectAfterMs) return [];
  const message =
    'heartbeatMs × 3 must not exceed suspectAfterMs, or an agent counts as dead after two lost ' +
    `heartbeats; they are ${heartbeatMs} and ${suspectAfterMs}`;
  const remedy = `raise suspectAfterMs to ${heartbeatMs * 3}, or lower heartbeatMs`;
  return [error(['cluster', 'failureDetector', 'suspectAfterMs'], message, remedy)];
}

function addressHeartbeats(subject: Subject): Finding[] {
  const { heartbeatMs, suspectAfterMs } = subject.parsed.cluster.failureDetector;
  const isShort = heartbeatMs * 5 > suspectAfterMs;
  if (subject.parsed.politeness.ipDelayMs === 0 || !isShort || heartbeats(subject).length > 0)
    return [];
  const message =
    'heartbeatMs × 5 must not exceed suspectAfterMs if politeness.ipDelayMs is set, or long ' +
    `requests lose their address; they are ${heartbeatMs} and ${suspectAfterMs}`;
  const remedy = `raise suspectAfterMs to ${heartbeatMs * 5}, or lower heartbeatMs`;
  return [error(['cluster', 'failureDetector', 'suspectAfterMs'], message, remedy)];
}

function tooManyBackups({ raw, parsed, members }: Subject): Finding[] {
  const { backups } = parsed.cluster;
  // A single agent with the default of `backups` is normal.
  if (
    members.length === 0 ||
    backups < members.length ||
    valueAt(raw, ['cluster', 'backups']) === undefined
  )
    return [];
  const message = `${backups} backups need ${backups + 1} agents, and there are ${members.length}`;
  return [warning(['cluster', 'backups'], message, 'add agents, or lower backups')];
}

function smallMajority({ parsed, members }: Subject): Finding[] {
  if (parsed.cluster.quorum !== 'majority' || members.length !== 2) return [];
  const message = 'a majority of two agents is both, so the crawl stops when one of them fails';
  return [warning(['cluster', 'quorum'], message, 'use three agents or more')];
}

function contact({ parsed }: Subject): Finding[] {
  if (/https?:\/\/[^\s/]|[^\s@]@[^\s@]+\.[^\s@]/i.test(parsed.http.userAgent)) return [];
  const message = 'has no contact, so operators of servers can only block the crawler';
  const remedy = 'add a URL or an e-mail address, as in "my-crawl (+https://example.org/bot)"';
  return [warning(['http', 'userAgent'], message, remedy)];
}

function seedsInScope({ parsed, seeds }: Subject): Finding[] {
  const { hosts } = parsed.scope;
  if (hosts === undefined) return [];
  const matches = hostMatcher(hosts);
  const outside = seeds.filter((seed) => !matches(hostOfSeed(seed) ?? ''));
  return leftOut('hosts', outside, seeds, 'add their hosts, or remove the seeds');
}

/** Excluded seeds are skipped. `include` applies to links, but not to seeds. */
function seedsExcluded({ parsed, seeds }: Subject): Finding[] {
  const patterns = parsed.scope.exclude.map(compilePattern);
  const excludes = (seed: string) =>
    patterns.some((compiled) => compiled.ok && compiled.pattern.test(canonicalSeed(seed)));
  const outside = patterns.length === 0 ? [] : seeds.filter(excludes);
  return leftOut('exclude', outside, seeds, 'narrow the expressions, or remove the seeds');
}

function leftOut(
  key: string,
  outside: readonly string[],
  seeds: readonly string[],
  remedy: string,
): Finding[] {
  if (outside.length === 0) return [];
  const first = JSON.stringify(outside[0]!.slice(0, 200));
  const message = `leaves out ${outside.length} of ${seeds.length} seeds, the first being ${first}`;
  return [warning(['scope', key], message, remedy)];
}

/** Approximates the canonical form; sufficient for a warning. */
function canonicalSeed(seed: string): string {
  const url = URL.parse(seed);
  return url === null ? seed : url.href.slice(0, url.href.length - url.hash.length);
}

/** The crawler does not learn the addresses to which a proxy connects. */
function addressesBehindProxy({ parsed }: Subject): Finding[] {
  if (parsed.politeness.ipDelayMs === 0 || parsed.http.proxy === null) return [];
  const message = 'has no effect through http.proxy, behind which addresses are not known';
  const remedy = 'use politeness.hostDelayMs, or no proxy';
  return [warning(['politeness', 'ipDelayMs'], message, remedy)];
}

function ownNetwork({ parsed }: Subject): Finding[] {
  const { mode, network, networks } = parsed.dedup;
  const names = Object.keys(networks);
  if (mode === 'none') {
    if (network === null || !Object.hasOwn(networks, network)) return [];
    const message = `is none, so each of the networks ${names.join(', ')} fetches every page`;
    return [warning(['dedup', 'mode'], message, 'write "mode: redis" to share the crawl')];
  }
  if (network === null) {
    const remedy = 'name this cluster, as in "network: berlin", and list its Redis in networks';
    return [error(['dedup', 'network'], 'is missing, and dedup.mode is redis', remedy)];
  }
  if (Object.hasOwn(networks, network)) return [];
  const listed = names.length === 0 ? 'which is empty' : `which has ${names.join(', ')}`;
  const message = `${JSON.stringify(network)} is not in dedup.networks, ${listed}`;
  return [error(['dedup', 'network'], message, 'add it there with the URL of its Redis')];
}

/** The messages must not repeat the URL. */
function passwordsInUrls({ parsed }: Subject): Finding[] {
  return Object.entries(parsed.dedup.networks).flatMap(([network, text]) => {
    if (!parseRedisUrl(text)?.hasPassword) return [];
    const variable = passwordVariable(network);
    const remedy = `remove it, and set ${variable}, or ${variable}_FILE to the path of a file`;
    return [error(['dedup', 'networks', network], 'contains a password', remedy)];
  });
}

function shortLease({ parsed }: Subject): Finding[] {
  const { leaseMs, timeoutMs } = parsed.dedup;
  if (timeoutMs * 3 <= leaseMs) return [];
  const message =
    'timeoutMs × 3 must not exceed leaseMs, or a lease ends while its renewal waits for an ' +
    `answer; they are ${timeoutMs} and ${leaseMs}`;
  const remedy = `raise leaseMs to ${timeoutMs * 3}, or lower timeoutMs`;
  return [error(['dedup', 'leaseMs'], message, remedy)];
}

/** `~` and `${NAME}` are not expanded, although a shell would do so. */
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
    const message = `is used literally: ${JSON.stringify(text.slice(0, 200))}`;
    return [warning(path, message, `write it out: neither ~ nor $\{NAME} is expanded`)];
  });
}

function error(path: readonly PropertyKey[], message: string, remedy: string): Finding {
  return { severity: 'error', path, message, remedy };
}

function warning(path: readonly PropertyKey[], message: string, remedy: string): Finding {
  return { severity: 'warning', path, message, remedy };
}
