// `ubiring explain`: shows everything that decides about one URL. The crawler's own code applies the
// config (canonical form, scope, limits, addresses). The stored state of the URL comes from the owner
// of its host or, if no agent runs, from the state files.

import { hash } from 'node:crypto';
import { type AgentEntry, type Config, membersOf } from '../../../config/config.ts';
import { resolveAgents } from '../../../config/file/ports.ts';
import { requestScopeOf } from '../../composition/config-parts.ts';
import { placementOf } from '../../composition/placement.ts';
import type { Explanation } from '../../control/explanation.ts';
import { AddressGuard } from '../../fetch/address/address-guard.ts';
import { checkAddress } from '../../fetch/address/check-address.ts';
import { admission } from '../../frontier/admission.ts';
import { homeOf } from '../../networks/rendezvous.ts';
import { robotsUrlOf } from '../../robots/access.ts';
import { type CrawlUrl, parseCrawlUrl, spelled } from '../../url/crawl-url.ts';
import { IdentityRules } from '../../url/identity-rules.ts';
import type { RequestScope } from '../../url/request-scope.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { askedOf, type CommonFlags, load } from '../common/load-config.ts';
import { print, say } from '../common/output.ts';
import { directedMembers } from '../state-files/stored-directives.ts';
import { robotsFilter } from './explain-robots.ts';
import { type Source, sourceFor } from './explain-sources.ts';
import { type ChainLink, explainText, type FilterVerdict, type UrlReport } from './explain-text.ts';

/** Maximum number of referrers followed towards the seed; more than any sensible depth limit. */
const CHAIN_MAX = 100;

/** No agent or state file that was read has it. */
const UNKNOWN = 'not known yet';

/** Exits with 2 if the text is not a URL to crawl. Explains unknown URLs, too. */
export async function explain(
  file: string,
  text: string,
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = load(file, flags);
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  // Before the first launch, numbered agents have no ports, and no agent can be asked.
  const resolved = await resolveAgents(config, { allocate: false });
  const agents = resolved.ok ? resolved.agents : [];
  const whom = askedOf(config, agents);
  const parsed = parseCrawlUrl(text);
  if ('refused' in parsed) {
    say(
      `${JSON.stringify(text)}: not a URL to crawl (${parsed.refused}); write an http or https URL`,
    );
    return 2;
  }
  const url = new IdentityRules(config.urls).apply(parsed);
  // With the overlay kademlia, only agents near the host know its owner.
  const order = orderOf(config, url.host);
  const rank = ({ id }: AgentEntry) => (order.includes(id) ? order.indexOf(id) : order.length);
  const nearFirst = whom.agents.toSorted((a, b) => rank(a) - rank(b));
  const source = await sourceFor(config, { ...whom, agents: nearFirst }, url, say);
  let report: UrlReport;
  try {
    report = await reportOn(config, text, url, source);
  } finally {
    source.close();
  }
  await print(flags.json ? `${JSON.stringify(report)}\n` : `${explainText(report)}\n`);
  return 0;
}

/** With the capacities of directives, as `owner` prints it. Empty if the config has only contacts. */
function orderOf(config: Config, host: string): readonly string[] {
  const members = membersOf(config);
  if (members.length === 0) return [];
  return placementOf(config.cluster, directedMembers(config, members)).order(host);
}

async function reportOn(
  config: Config,
  text: string,
  { identity, fetchUrl, host }: CrawlUrl,
  source: Source,
): Promise<UrlReport> {
  const stored = await source.find(identity);
  // A known URL is requested in its stored form, whatever form the caller gave.
  const form = stored?.url?.fetchUrl ?? fetchUrl;
  const chain = await chainOf(identity, stored, source);
  return {
    url: text,
    identity,
    fetchUrl: form,
    host,
    owner: source.owner,
    order: orderOf(config, host),
    source: source.kind,
    silentOwner: source.silentOwner,
    networks: networksOf(config, host),
    filters: await filtersOf(config, { identity, fetchUrl: form, host }, stored, source.find),
    state: stateOf(stored),
    foundAt: chain[0]?.fetchedAt ?? null,
    chain,
    stored,
  };
}

function networksOf({ dedup }: Config, host: string): UrlReport['networks'] {
  if (dedup.mode === 'none' || dedup.network === null) return null;
  const names = Object.keys(dedup.networks);
  const home = homeOf(names, host, (text) => hash('sha256', text, 'base64url'));
  return { others: names.filter((name) => name !== dedup.network), home };
}

function stateOf(stored: Explanation | null): string {
  if (stored?.url) return stored.url.state;
  if (stored?.inOutbox) return 'on its way to its owner';
  return stored?.askedFor ? 'asked for before the pages of its origin' : 'unknown';
}

/** The page on which the URL was found; for robots.txt, a URL of its origin. */
function cameFrom(stored: Explanation | null): string | null {
  return stored?.url ? stored.url.referrer : (stored?.askedFor ?? null);
}

async function chainOf(
  identity: string,
  stored: Explanation | null,
  source: Source,
): Promise<ChainLink[]> {
  const chain: ChainLink[] = [];
  const seen = new Set([identity]);
  let next = cameFrom(stored);
  while (next !== null && !seen.has(next) && chain.length < CHAIN_MAX) {
    seen.add(next);
    const found = await source.find(next);
    const { status = null, fetchedAt = null } = found?.url ?? {};
    const agent = found?.agent ?? null;
    chain.push({ url: next, agent, state: stateOf(found), status, fetchedAt });
    next = cameFrom(found);
  }
  return chain;
}

async function filtersOf(
  config: Config,
  parsed: CrawlUrl,
  stored: Explanation | null,
  find: Source['find'],
): Promise<FilterVerdict[]> {
  const { identity, fetchUrl } = parsed;
  const guard = new AddressGuard({ allowPrivate: config.http.allowPrivateAddresses });
  const address = await checkAddress(fetchUrl, guard);
  const { limits, politeness } = config;
  const { url, host: its } = stored ?? {};
  const done = its?.pagesDone;
  return [
    scopeFilter(requestScopeOf(config), parsed, stored),
    {
      filter: 'address',
      passes: !address.blocked,
      why:
        address.reason ??
        'the host name shows no forbidden address; those of its look-up are checked at each connection',
    },
    {
      filter: 'length',
      passes: fetchUrl.length <= limits.urlLength,
      why: `${fetchUrl.length} of limits.urlLength ${limits.urlLength}`,
    },
    {
      filter: 'depth',
      passes: url ? url.depth <= limits.depthPerHost : null,
      why: ofLimit(url?.depth, 'limits.depthPerHost', limits.depthPerHost),
    },
    {
      filter: 'trap',
      passes: admission({ ...limits, everyPort: true })({ url: identity, depth: 0 }) !== 'trap',
      why: `limits.repeatedSegments ${limits.repeatedSegments}`,
    },
    {
      filter: 'pages',
      passes: done === undefined ? null : done < limits.pagesPerHost,
      why: ofLimit(done, 'limits.pagesPerHost', limits.pagesPerHost),
    },
    blockFilter(stored),
    await robotsFilter(politeness.robots, identity, stored, find),
  ];
}

function blockFilter(stored: Explanation | null): FilterVerdict {
  if (stored === null) return { filter: 'block', passes: null, why: UNKNOWN };
  const { blockedBy } = stored;
  if (blockedBy === null) return { filter: 'block', passes: true, why: 'no directive blocks it' };
  return { filter: 'block', passes: false, why: `a directive blocks ${blockedBy}` };
}

function ofLimit(n: number | undefined, name: string, limit: number): string {
  return n === undefined ? `${UNKNOWN}; ${name} is ${limit}` : `${n} of ${name} ${limit}`;
}

/** A robots.txt to which that of another host redirects passes regardless of include and exclude. */
function scopeFilter(
  scope: RequestScope,
  url: CrawlUrl,
  stored: Explanation | null,
): FilterVerdict {
  const sitemap = stored?.url?.sitemap ?? false;
  const { admitted, rule } = scope.verdict(url.host, { ...spelled(url), sitemap });
  const from = stored?.url?.referrer;
  const isLedTo =
    from?.endsWith('/robots.txt') === true && url.fetchUrl === robotsUrlOf(url.fetchUrl);
  if (admitted || !isLedTo || !scope.covers(url.host)) {
    return { filter: 'scope', passes: admitted, why: rule };
  }
  return { filter: 'scope', passes: true, why: `${from} redirects to it; otherwise ${rule}` };
}
