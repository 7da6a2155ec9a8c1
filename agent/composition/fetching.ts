// Builds the parts through which a page passes: the HTTP client, the parser threads, the archive
// and the pipeline that connects them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { AgentEntry, Config } from '../../config/config.ts';
import { Archive } from '../archive/archive.ts';
import type { ArchiveError } from '../archive/archive-failure.ts';
import { assertNever } from '../core/protocol/assert-never.ts';
import { AddressChoice, type Chosen } from '../fetch/address/address-choice.ts';
import { AddressGuard } from '../fetch/address/address-guard.ts';
import { cachedLookup } from '../fetch/address/dns-cache.ts';
import { createResolver } from '../fetch/address/resolver.ts';
import { BodyBudget } from '../fetch/body/body-budget.ts';
import type { HttpFetcherOptions } from '../fetch/client/http-fetcher.ts';
import type { Fetcher } from '../fetch/fetch.ts';
import { admission } from '../frontier/admission.ts';
import { hostsVisitedMax } from '../frontier/schedule/threads.ts';
import { ParseLanes } from '../parse/parse-lanes.ts';
import { PagePipeline } from '../pipeline/page-pipeline.ts';
import { productTokenOf } from '../robots/product-token.ts';
import { sitemapsNamed } from '../robots/robots-txt.ts';
import { monotonicMs, wallMs } from '../runtime/clock.ts';
import type { SqliteStore } from '../storage/sqlite-store.ts';
import { IdentityRules } from '../url/identity-rules.ts';
import type { RequestScope } from '../url/request-scope.ts';
import { aboutArchive, compressionOf } from './config-parts.ts';

interface ArchiveParts {
  readonly config: Config;
  readonly entry: AgentEntry;
  /** `DATA/ID`. */
  readonly directory: string;
  readonly log: Logger;
}

/**
 * Opens the agent's archive; null if the config has none. The last file of an earlier run is first
 * truncated to the length in the state file. Pages whose records are lost are requeued.
 *
 * @throws ArchiveError
 */
export function archiveOf(
  { config, entry, directory, log }: ArchiveParts,
  store: SqliteStore,
  onFailure: (error: ArchiveError) => void,
): Archive | null {
  if (!config.archive.warc) return null;
  const archive = new Archive({
    directory: join(directory, 'warc'),
    agent: entry.id,
    fileBytes: config.archive.fileBytes,
    compression: compressionOf(config),
    durable: config.storage.durability === 'power',
    about: aboutArchive(config),
    known: store.archiveEnd(),
    onFailure,
  });
  const { lost, notice } = archive.recovered;
  if (notice) log.warn(notice);
  if (lost) {
    store.begin();
    const pages = store.reopenPages(lost.file, lost.from);
    store.commit(true);
    log.warn({ pages, ...lost }, 'pages whose records were lost are queued again');
  }
  return archive;
}

export type CreateFetcher = (options: HttpFetcherOptions) => Fetcher;

/** Loads only the configured client, since loading got takes 0.1 s. */
export async function loadClient({ http }: Config): Promise<CreateFetcher> {
  switch (http.client) {
    case 'got':
      return (await import('../fetch/client/got-fetcher.ts')).createGotFetcher;
    case 'node':
      return (await import('../fetch/client/node-fetcher.ts')).createNodeFetcher;
    default:
      return assertNever(http.client);
  }
}

/** @throws if the file of certificate authorities cannot be read or contains none */
function fetcherOf(
  create: CreateFetcher,
  { http, agent }: Config,
  { guard, keepRaw }: { readonly guard: AddressGuard; readonly keepRaw: boolean },
): { readonly fetcher: Fetcher; readonly addresses: AddressChoice | null } {
  const { userAgent, timeouts, proxy, tls } = http;
  const { family, ttlMinMs, ttlMaxMs, negativeTtlMs } = http.dns;
  const lookup = cachedLookup({
    resolve: createResolver({ family }),
    now: monotonicMs,
    ...{ ttlMinMs, ttlMaxMs: Math.max(ttlMinMs, ttlMaxMs), negativeTtlMs },
  });
  const fetcher = create({
    ...{ userAgent, timeouts, proxy, lookup, keepRaw, guard },
    now: monotonicMs,
    wallNow: wallMs,
    idleConnectionsMax: hostsVisitedMax(agent.threads),
    verifyCertificates: tls.verify,
    ...(tls.ca === null ? {} : { certificateAuthority: readFileSync(tls.ca, 'utf8') }),
    http2: http.http2,
    cookies: http.cookies,
    contentTypes: http.contentTypes,
  });
  // The addresses to which a proxy connects are unknown.
  return { fetcher, addresses: proxy === null ? new AddressChoice({ lookup, guard }) : null };
}

export interface Fetching {
  readonly pipeline: PagePipeline;
  /** The address of the host's next request; null if it is unknown or none is allowed. */
  readonly addressOf: (host: string, current: string | null) => Promise<Chosen | null>;
  readonly close: () => Promise<void>;
}

/** `close` also closes the archive. */
export function fetchingOf(
  { config, createFetcher }: { readonly config: Config; readonly createFetcher: CreateFetcher },
  archive: Archive | null,
  scope: RequestScope,
  mayWrite: (host: string) => boolean,
): Fetching {
  const { userAgent, timeouts, allowPrivateAddresses, proxy } = config.http;
  const guard = new AddressGuard({ allowPrivate: allowPrivateAddresses, viaProxy: proxy !== null });
  const { fetcher, addresses } = fetcherOf(createFetcher, config, {
    guard,
    keepRaw: archive !== null,
  });
  const parsing = new ParseLanes({
    workers: config.agent.parseWorkers,
    timeoutMs: timeouts.totalMs,
  });
  parsing.start();
  const admit = admission({ ...config.limits, everyPort: allowPrivateAddresses });
  const rules = new IdentityRules(config.urls);
  const pipeline = new PagePipeline({
    fetcher,
    parse: (input, others) => parsing.parse(input, others),
    inScope: (host, url) => scope.admitsLink(host, url),
    admits: (url) => admit({ ...url, depth: 0 }) === null,
    isOfCrawl: (host) => scope.covers(host),
    // A longer URL is skipped for its length, so its parameters need not be processed.
    identify: (url) => (url.fetchUrl.length > config.limits.urlLength ? url : rules.apply(url)),
    productToken: productTokenOf(userAgent) ?? '*',
    embeds: config.links.embeds,
    bodyBytesMax: config.limits.bodyBytes,
    bodies: new BodyBudget(),
    sitemapsOf: sitemapsNamed,
    mayWrite: (request) => mayWrite(request.host),
    isForbidden: (url) => guard.checkUrl(new URL(url)) !== null,
    onUnreachable: ({ host, address }) => {
      if (address) addresses?.failed(host, address);
    },
    ...(archive && { archive }),
  });
  const close = async () => {
    await Promise.all([fetcher.close(), parsing.close(), archive?.close()]);
  };
  const addressOf = (host: string, current: string | null) =>
    addresses?.of(host, current) ?? Promise.resolve(null);
  return { pipeline, addressOf, close };
}
