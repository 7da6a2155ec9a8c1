// Adds up the networks that share one crawl, for `ubiring audit A B`. All files of all networks are
// walked once more, side by side and sorted, so memory does not grow with the number of URLs. A URL
// counts once: for the networks that have fetched it, or else in the most advanced class that a
// network has it in. While networks run, their files are of different moments, so a URL that one has
// left to the other may not be there yet; it must be once one of the two is complete.

import type { Config } from '../../../config/config.ts';
import { identityOf } from '../../url/url-key.ts';
import type { StateFile } from '../common/query-files.ts';
import { type Standing, standing } from '../state-files/query-merge.ts';
import type { Owners } from '../state-files/query-owners.ts';
import type { Audit } from './audit-report.ts';
import { claimOf } from './audit-tally.ts';
import { type WalkedUrl, walkHosts } from './audit-walk.ts';

/** A network with its open files. */
export interface Network {
  readonly network: string;
  readonly audit: Audit;
  readonly files: readonly StateFile[];
  readonly owners: Pick<Owners, 'view' | 'complete' | 'owner'>;
}

/** URLs that share something. `examples`: the first of them. */
export interface UrlCount {
  count: number;
  readonly examples: string[];
}

/** The output of `--json`. */
export interface NetworksAudit {
  /** Every audit is `ok`, the sum holds, and nothing is lost. */
  readonly ok: boolean;
  readonly networks: Readonly<Record<string, Audit>>;
  readonly all: {
    /** Distinct URLs. */
    readonly known: number;
    /** A network has a response. */
    readonly done: number;
    readonly queued: number;
    readonly skipped: number;
    readonly failed: number;
    /** Known only to networks that have left it to one that is not among the files. */
    readonly outside: number;
    /** Responses and failures by network. */
    readonly fetchedBy: Readonly<Record<string, number>>;
    /** Several networks have fetched these. */
    readonly overlap: UrlCount;
    /** Left to a network that has not finished them: they are queued there, or awaited. */
    readonly open: number;
    /** Left to a network that neither has finished nor queues them, as no other network does. */
    readonly missing: UrlCount;
    /** Part of `missing`: a complete network is concerned, so they are lost. */
    readonly lost: UrlCount;
    /** URLs left to networks that are not among the files, by network. */
    readonly leftOutside: Readonly<Record<string, number>>;
    /** Networks of the crawl without config here, and settings that must agree but do not. */
    readonly absent: readonly string[];
    readonly differing: readonly string[];
    /** Settings that differ, so that links which only one network follows may be missing. */
    readonly unlike: readonly string[];
  };
}

const examplesMax = 20;
/** What the stored reason of a URL that another network has begins with. */
const ELSEWHERE = 'elsewhere ';

/** Why the configs are not those of different networks of one crawl; null: they are. */
export function mismatchOf(
  configs: readonly Pick<Config, 'file' | 'name' | 'dedup' | 'agent'>[],
): string | null {
  const [first] = configs;
  const namesOf = ({ dedup }: Pick<Config, 'dedup'>) => Object.keys(dedup.networks).sort().join();
  for (const [k, one] of configs.entries()) {
    const { file, name, dedup, agent } = one;
    if (dedup.mode !== 'redis' || dedup.network === null) {
      return `${file}: shares its crawl with no other network (dedup.mode: redis); audit it alone`;
    }
    if (name !== first!.name) {
      return `${file}: is of crawl '${name}', but ${first!.file} is of '${first!.name}'`;
    }
    if (namesOf(one) !== namesOf(first!)) {
      return `${file}: names other networks in dedup.networks than ${first!.file}`;
    }
    for (const other of configs.slice(0, k)) {
      if (other.dedup.network === dedup.network) {
        return `${file}: is of network ${dedup.network}, as is ${other.file}; name each network once`;
      }
      if (other.agent.dataDir === agent.dataDir) {
        return `${file}: has the same agent.dataDir as ${other.file}; each network needs its own`;
      }
    }
  }
  return null;
}

type Compared = Pick<Config, 'file' | 'dedup' | 'urls' | 'scope' | 'links'>;

/** Networks of the crawl without config here; and settings that must agree but do not, by name. */
function remarksOn(
  configs: readonly Compared[],
): Pick<NetworksAudit['all'], 'absent' | 'differing' | 'unlike'> {
  const given = configs.map(({ dedup }) => dedup.network);
  const named = Object.keys(configs[0]?.dedup.networks ?? {});
  const differs = (of: (config: Compared) => unknown) =>
    new Set(configs.map((config) => JSON.stringify(of(config)))).size > 1;
  return {
    absent: named.filter((network) => !given.includes(network)),
    differing: [
      ...(differs(({ dedup }) => dedup.leaseMs) ? ['dedup.leaseMs'] : []),
      ...(differs(({ urls }) => urls) ? ['urls'] : []),
    ],
    unlike: [
      ...(differs(({ scope }) => scope) ? ['scope'] : []),
      ...(differs(({ links }) => links) ? ['links'] : []),
    ],
  };
}

/** What a network has for a URL. `to`: another network has the URL. */
interface Share extends Standing {
  readonly network: Network;
  readonly to: string | null;
}

class NetworksTally {
  readonly #networks: readonly Network[];
  known = 0;
  done = 0;
  queued = 0;
  skipped = 0;
  failed = 0;
  outside = 0;
  open = 0;
  readonly fetchedBy: Record<string, number>;
  readonly overlap: UrlCount = { count: 0, examples: [] };
  readonly missing: UrlCount = { count: 0, examples: [] };
  readonly lost: UrlCount = { count: 0, examples: [] };
  readonly leftOutside: Record<string, number> = {};

  constructor(networks: readonly Network[]) {
    this.#networks = networks;
    this.fetchedBy = Object.fromEntries(networks.map(({ network }) => [network, 0]));
  }

  /** `urls`: their rows name agents as NETWORK/AGENT. */
  add(host: string, urls: Iterable<WalkedUrl>): void {
    const owners = new Map(
      this.#networks.map((one) => [one, `${one.network}/${one.owners.owner(host)}`]),
    );
    for (const url of urls) this.#addUrl(identityOf(host, url.key), url, owners);
  }

  #addUrl(identity: string, url: WalkedUrl, owners: ReadonlyMap<Network, string>): void {
    this.known++;
    const shares = this.#networks.flatMap((one) => shareOf(one, url, owners.get(one)!) ?? []);
    const fetched = shares.filter(({ state }) => state === 'response' || state === 'failed');
    for (const { network } of fetched) this.fetchedBy[network.network]!++;
    if (fetched.length > 1) note(this.overlap, identity);
    this.#classify(identity, shares, url.onTheWayFrom.length > 0);
    const isFinished = shares.some(({ state, to }) => to === null && state !== 'queued');
    const isQueued = shares.some(({ state }) => state === 'queued');
    if (isQueued && !isFinished && shares.some(({ to }) => to !== null)) this.open++;
  }

  #classify(identity: string, shares: readonly Share[], isOnTheWay: boolean): void {
    const has = (state: Standing['state']) => shares.some((share) => share.state === state);
    if (has('response')) this.done++;
    else if (has('failed')) this.failed++;
    else if (has('queued') || isOnTheWay) this.queued++;
    else if (shares.some(({ to }) => to !== null)) return this.#addLeft(identity, shares);
    else if (has('skipped')) this.skipped++;
  }

  /** Nobody among the files has the URL, and somebody has left it to another network. */
  #addLeft(identity: string, shares: readonly Share[]): void {
    const known = (name: string) => this.#networks.find(({ network }) => network === name);
    const left = shares.filter(({ to }) => to !== null);
    const away = left.filter(({ to }) => known(to!) === undefined);
    for (const to of new Set(away.map((share) => share.to!))) {
      this.leftOutside[to] = (this.leftOutside[to] ?? 0) + 1;
    }
    if (away.length > 0) {
      this.outside++;
      return;
    }
    note(this.missing, identity);
    const isOver = left.some(
      ({ network, to }) => network.owners.complete || known(to!)!.owners.complete,
    );
    if (isOver) note(this.lost, identity);
  }
}

/** The winning row of a network; null: it does not have the URL, or the audit has reported it. */
function shareOf(network: Network, { rows }: WalkedUrl, owner: string): Share | null {
  const own = rows.filter(({ agent }) => agent.startsWith(`${network.network}/`));
  const claims = own.map(claimOf).filter((claim) => typeof claim !== 'string');
  if (claims.length === 0) return null;
  const winner = standing(claims, owner);
  const { reason } = own.find(({ agent }) => agent === winner.agent)!;
  return { ...winner, network, to: toOf(winner, reason) };
}

/** Of a queued URL, the reason is the network that has claimed it. */
function toOf({ state }: Standing, reason: string | null): string | null {
  if (state === 'queued') return reason;
  const isLeft = state === 'skipped' && reason?.startsWith(ELSEWHERE) === true;
  return isLeft ? reason.slice(ELSEWHERE.length) : null;
}

function note(urls: UrlCount, identity: string): void {
  urls.count++;
  if (urls.examples.length < examplesMax) urls.examples.push(identity);
}

/** @throws DamagedFile */
export function addNetworks(
  networks: readonly Network[],
  configs: readonly Compared[],
): NetworksAudit {
  const tally = new NetworksTally(networks);
  // Agents of different networks may have one name.
  const files = networks.flatMap(({ network, files }) =>
    files.map((file) => ({ ...file, agent: `${network}/${file.agent}` })),
  );
  for (const { host, urls } of walkHosts(files)) tally.add(host, urls);
  const { known, done, queued, skipped, failed, outside, fetchedBy } = tally;
  const { overlap, open, missing, lost, leftOutside } = tally;
  const sum = done + queued + skipped + failed + outside + missing.count;
  return {
    ok: networks.every(({ audit }) => audit.ok) && known === sum && lost.count === 0,
    networks: Object.fromEntries(networks.map(({ network, audit }) => [network, audit])),
    all: {
      ...{ known, done, queued, skipped, failed, outside, fetchedBy },
      ...{ overlap, open, missing, lost, leftOutside, ...remarksOn(configs) },
    },
  };
}
