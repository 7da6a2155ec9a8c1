// Derives the settings of an agent's parts from its config: the core's settings with the
// fingerprint, the seeds, the scope and the robots.txt parser.

import { createHash } from 'node:crypto';
import { type AgentEntry, type Config, leaseMsOf } from '../../config/config.ts';
import {
  fingerprintHash,
  fingerprintOf,
  firstDifference,
  urlRulesText,
} from '../../config/fingerprint.ts';
import { compilePattern, type LinearPattern } from '../../config/values/linear-pattern.ts';
import { seedProblem } from '../../config/values/seed.ts';
import type { Compression } from '../archive/record/compression.ts';
import { BOUNDS } from '../core/protocol/bounds.ts';
import type { UrlItem } from '../core/protocol/messages.ts';
import { ownDelay } from '../frontier/host-delay.ts';
import { productTokenOf } from '../robots/product-token.ts';
import { parseRobots } from '../robots/robots-txt.ts';
import { randomId, secret } from '../runtime/random.ts';
import { CANONICAL_FORM_VERSION, type CrawlUrl, parseCrawlUrl, spelled } from '../url/crawl-url.ts';
import { IdentityRules } from '../url/identity-rules.ts';
import { RequestScope } from '../url/request-scope.ts';
import { Scope, type ScopeRules } from '../url/scope.ts';
import type { PlainSettings } from './selected-overlay.ts';

/** Version of the messages and rules between agents. All agents must have the same. */
const PROTOCOL_VERSION = 1;

/**
 * The settings of the core, without those that follow from the overlay.
 *
 * @param parts.agents - the configured agents, with resolved endpoints
 */
export function settingsOf(parts: {
  readonly config: Config;
  readonly entry: AgentEntry;
  readonly agents: readonly AgentEntry[];
  readonly awaits?: readonly string[];
  readonly completedBy?: readonly string[] | undefined;
}): PlainSettings {
  const { config, entry, agents, awaits = [], completedBy } = parts;
  const { backups, quorum, failureDetector } = config.cluster;
  const versions = { protocol: PROTOCOL_VERSION, canonicalForm: CANONICAL_FORM_VERSION };
  const fingerprint = fingerprintOf(config, versions);
  return {
    id: entry.id,
    capacity: entry.capacity,
    address: entry.address,
    configured: agents.map(({ id, address }) => ({ id, address })),
    awaits: awaits.filter((id) => id !== entry.id),
    ...(completedBy && { completedBy }),
    backups,
    quorum,
    ...failureDetector,
    leaseMs: leaseMsOf(config),
    bounds: { ...BOUNDS, unreplicated: config.agent.threads },
    seenKey: secret(),
    proofKey: randomId(),
    delayMs: ownDelay(config.politeness),
    ipDelayMs: config.politeness.ipDelayMs,
    pagesMax: config.limits.pages,
    fingerprint,
    fingerprintHash: fingerprintHash(fingerprint),
    compare: firstDifference,
    digest: (text) => createHash('sha256').update(text).digest('base64url').slice(0, 22),
  };
}

/** What a state file must belong to so that the agent may use it. */
export function claimsOf(config: Config, agent: string) {
  const { name, dedup } = config;
  const network = dedup.mode === 'none' ? null : dedup.network;
  return { crawl: name, network, agent, urls: urlRulesText(config) };
}

/** Seeds and sitemaps as URLs to route. They all parse, since the config was validated. */
export function seedsOf(config: Config): UrlItem[] {
  const sitemaps = itemsOf(config, config.sitemaps);
  return [
    ...itemsOf(config, config.seeds),
    ...sitemaps.map((item): UrlItem => ({ ...item, sitemap: true })),
  ];
}

function itemsOf(config: Config, texts: readonly string[]): UrlItem[] {
  const rules = new IdentityRules(config.urls);
  return texts.flatMap((seed) => {
    const parsed = parseCrawlUrl(seed);
    return 'refused' in parsed ? [] : itemOf(rules.apply(parsed));
  });
}

function itemOf(url: CrawlUrl): UrlItem {
  return { ...spelled(url), depth: 0 };
}

/** Parses seeds that are added while the crawl runs; `refused` is the reason of a refusal. */
export function seedReader(config: Config) {
  const rules = new IdentityRules(config.urls);
  const scope = scopeOf(config);
  return (text: string): UrlItem | { readonly refused: string } => {
    const parsed = parseCrawlUrl(text);
    if ('refused' in parsed)
      return { refused: `not a URL to crawl (${parsed.refused}); write an http or https URL` };
    const problem = seedProblem(text);
    if (problem) return { refused: problem.message };
    const url = rules.apply(parsed);
    const { admitted, rule } = scope.verdict(url.host, spelled(url));
    return admitted
      ? itemOf(url)
      : { refused: `out of scope: ${rule}; change scope and launch again` };
  };
}

/** The scope of URLs that are no starting points. */
function scopeOf(config: Config): Scope {
  return new Scope(scopeRulesOf(config));
}

/** Which URLs are crawled and requested; seeds and sitemaps need not match `include`. */
export function requestScopeOf(config: Config): RequestScope {
  return new RequestScope(scopeRulesOf(config), () => seedsOf(config).map(({ url }) => url));
}

function scopeRulesOf({ scope }: Config): ScopeRules {
  const include = scope.include.map(patternOf);
  return { hosts: scope.hosts, include, exclude: scope.exclude.map(patternOf) };
}

/** All patterns compile, since the config was validated. */
function patternOf(source: string): LinearPattern {
  const compiled = compilePattern(source);
  if (!compiled.ok) throw new Error(`scope: ${source} ${compiled.message}`);
  return compiled.pattern;
}

/** The compression of the archive's files. */
export function compressionOf({ archive }: Config): Compression {
  const { compression: format, gzipLevel, zstdLevel } = archive;
  return { format, level: format === 'zstd' ? zstdLevel : gzipLevel };
}

/** The warcinfo record of each archive file, as names and values. */
export function aboutArchive(config: Config): readonly (readonly [string, string])[] {
  return [
    ['software', 'ubiring'],
    ['format', 'WARC File Format 1.1'],
    [
      'conformsTo',
      'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/',
    ],
    ['isPartOf', config.name],
    ['http-header-user-agent', config.http.userAgent],
    ['robots', config.politeness.robots ? 'obey' : 'ignore'],
  ];
}

/** A parser that reads the rules of robots.txt for this user agent. */
export function robotsParser(userAgent: string) {
  const token = productTokenOf(userAgent) ?? '*';
  return (body: Uint8Array) => parseRobots(body, token);
}
