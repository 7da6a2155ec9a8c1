// Counts the URLs of a crawl for `ubiring audit`: known = done + queued + skipped + failed. A URL is known
// if the tables or the outbox of any file have it. Its class follows from the merged files, by the same
// rule as in `query`. While agents run, hosts move between them, and the most advanced row counts. In a
// complete crawl nothing may be left to do, every URL must be in the views of an agent, and the copies
// must equal the owner's rows.

import { identityOf } from '../../url/url-key.ts';
import { HOST_ERRORS } from '../state-files/host-errors.ts';
import { isFurther, type Standing, standing } from '../state-files/query-merge.ts';
import type { Owners } from '../state-files/query-owners.ts';
import type { FileHost, StoredRow, WalkedHost, WalkedUrl } from './audit-walk.ts';

/** Findings kept in each list: enough to see what they have in common. */
const samplesMax = 100;

/** A problem or a warning. */
export interface Finding {
  readonly kind:
    | 'no-class'
    | 'bad-row'
    | 'counter'
    | 'left-over'
    | 'ahead'
    | 'behind'
    | 'unclaimed'
    | 'few-copies'
    | 'only-gone';
  /** The agent whose file has it; null if no single one has. */
  readonly agent: string | null;
  /** The URL, the host if all of it is affected, or empty. */
  readonly of: string;
  readonly says: string;
}

export interface Findings {
  readonly count: number;
  /** The first `samplesMax` of them. */
  readonly list: readonly Finding[];
}

class FindingList implements Findings {
  count = 0;
  readonly list: Finding[] = [];

  add(finding: Finding): void {
    this.count++;
    if (this.list.length < samplesMax) this.list.push(finding);
  }
}

type TallyOwners = Pick<Owners, 'view' | 'complete' | 'owner' | 'holders'>;

/** The host being counted, and the agents that its URLs are compared with. */
interface OpenHost {
  readonly host: string;
  readonly owner: string | undefined;
  readonly holders: readonly string[];
  /** Agents whose views show the host. */
  readonly claimants: ReadonlySet<string>;
  /** Agents whose copy lacks something. */
  readonly lagging: Set<string>;
  /** By agent, the queued rows and the fetched pages counted. */
  readonly seen: Map<string, { queued: number; pages: number }>;
}

export class AuditTally {
  readonly #owners: TallyOwners;
  readonly problems = new FindingList();
  readonly warnings = new FindingList();
  known = 0;
  done = 0;
  queued = 0;
  failed = 0;
  /** See `Audit` for this and the other counters. */
  onTheWay = 0;
  serverErrors = 0;
  hostsUnreachable = 0;
  unsettled = 0;
  readonly skipped = new Map<string, number>();
  hosts = 0;
  /** Hosts that are complete at fewer agents than they should be. */
  hostsWithFewCopies = 0;
  behind = 0;
  ahead = 0;
  /** URLs that failed because of their host. */
  #hostFailures = 0;
  /** Page records counted, by agent. */
  readonly #records = new Map<string, number>();

  constructor(owners: TallyOwners) {
    this.#owners = owners;
  }

  get skippedTotal(): number {
    return this.skipped.values().reduce((sum, count) => sum + count, 0);
  }

  get sum(): number {
    return this.done + this.queued + this.skippedTotal + this.failed;
  }

  get addsUp(): boolean {
    return this.known === this.sum && this.problems.count === 0;
  }

  /** Counts a host with all its URLs. */
  add({ host, files, urls }: WalkedHost): void {
    const claimants = new Set(files.filter(({ owned }) => owned).map(({ agent }) => agent));
    const open: OpenHost = {
      host,
      owner: this.#owners.owner(host),
      holders: this.#owners.holders(host),
      claimants,
      lagging: new Set(),
      seen: new Map(files.map(({ agent }) => [agent, { queued: 0, pages: 0 }])),
    };
    let stored = 0;
    const [doneBefore, failedBefore, before] = [this.done, this.failed, this.#hostFailures];
    for (const url of urls) {
      this.known++;
      if (url.rows.length > 0) stored++;
      this.#addUrl(open, url);
    }
    const hasNoResponse = this.failed > failedBefore && this.done === doneBefore;
    if (hasNoResponse || this.#hostFailures > before) this.hostsUnreachable++;
    for (const file of files) this.#checkCounters(open, file);
    if (stored === 0) return;
    this.hosts++;
    this.#checkCopies(open, files);
  }

  #addUrl(open: OpenHost, url: WalkedUrl): void {
    const identity = identityOf(open.host, url.key);
    if (url.rows.length === 0) return this.#addOnTheWay(identity, url.onTheWayFrom);
    const claims: Standing[] = [];
    for (const row of url.rows) {
      this.#count(open, row);
      const claim = claimOf(row);
      if (typeof claim !== 'string') claims.push(claim);
      else this.#problem('bad-row', row.agent, identity, claim);
    }
    this.#classify(open, identity, url, claims);
    if (claims.length === url.rows.length) this.#compare(open, identity, claims);
  }

  #addOnTheWay(url: string, from: readonly string[]): void {
    this.queued++;
    this.onTheWay++;
    const living = from.find((agent) => this.#isInView(agent));
    if (living === undefined) this.#onlyGone(url, from[0]!, true);
    else if (this.#owners.complete) {
      this.#problem('left-over', living, url, 'in the outbox, though the crawl is complete');
    }
  }

  #count({ seen }: OpenHost, { agent, state, record }: StoredRow): void {
    const counts = seen.get(agent)!;
    if (state === 0) counts.queued++;
    if (state === 1 || state === 2) counts.pages++;
    if (record) this.#records.set(agent, (this.#records.get(agent) ?? 0) + 1);
  }

  /** Counts the URL in the class of its winning claim. */
  #classify(open: OpenHost, url: string, walked: WalkedUrl, claims: readonly Standing[]): void {
    const { complete } = this.#owners;
    const said = complete ? claims.filter(({ agent }) => open.claimants.has(agent)) : claims;
    if (said.length === 0) {
      const agents = walked.rows.map(({ agent }) => agent).join(', ');
      const says = `in the tables of ${agents}, and in no agent's views`;
      return this.#problem('no-class', walked.rows[0]!.agent, url, says);
    }
    const winner = standing(said, open.owner);
    const row = walked.rows.find(({ agent }) => agent === winner.agent)!;
    if (winner.state === 'response') {
      this.done++;
      if (isServerError(row.record?.status ?? null)) this.serverErrors++;
    } else if (winner.state === 'failed') {
      this.failed++;
      if (HOST_ERRORS.includes(row.record?.error ?? '')) this.#hostFailures++;
    } else if (winner.state === 'queued') this.queued++;
    else this.skipped.set(row.reason!, 1 + (this.skipped.get(row.reason!) ?? 0));
    if (!row.settled && winner.state !== 'queued') this.unsettled++;
    const living = walked.rows.some(({ agent }) => this.#isInView(agent));
    if (!living) return this.#onlyGone(url, winner.agent, winner.state === 'queued');
    if (!complete || !this.#isInView(winner.agent) || row.settled) return;
    const what = winner.state === 'queued' ? 'queued' : 'fetched and not settled';
    this.#problem('left-over', winner.agent, url, `${what}, though the crawl is complete`);
  }

  /** Compares the owner's row with the copies of the agents in view. */
  #compare(open: OpenHost, url: string, claims: readonly Standing[]): void {
    const { complete } = this.#owners;
    const living = claims.filter(({ agent }) => this.#isInView(agent));
    if (living.length === 0 || open.owner === undefined) return;
    const owner = living.find(({ agent }) => agent === open.owner);
    const first = owner ?? standing(living, open.owner);
    for (const copy of living) {
      if (owner && !isFurther(copy, owner)) continue;
      this.ahead++;
      if (!complete) break;
      const than = owner ? `its owner ${owner.agent} has ${owner.state}` : 'its owner lacks it';
      this.#problem('ahead', copy.agent, url, `its copy is ahead (${copy.state}): ${than}`);
    }
    for (const agent of open.holders) {
      const copy = living.find((claim) => claim.agent === agent);
      if (copy && !isFurther(first, copy)) continue;
      open.lagging.add(agent);
      if (agent === open.owner) continue;
      this.behind++;
      if (!complete) continue;
      const has = copy ? `its copy has ${copy.state}` : 'its copy lacks it';
      this.#problem('behind', agent, url, `${has}; ${first.agent} has ${first.state}`);
    }
  }

  #checkCounters({ host, seen }: OpenHost, { agent, queued, pages }: FileHost): void {
    const counted = seen.get(agent)!;
    if (counted.queued === queued && counted.pages === pages) return;
    const rows = `its rows are ${counted.queued} queued and ${counted.pages} fetched`;
    this.#problem('counter', agent, host, `counts ${queued} queued and ${pages} fetched; ${rows}`);
  }

  #checkCopies({ host, holders, claimants, lagging }: OpenHost, files: readonly FileHost[]) {
    const living = files.filter(({ agent }) => this.#isInView(agent));
    const warn = (kind: Finding['kind'], says: string) => {
      this.warnings.add({ kind, agent: null, of: host, says });
    };
    if (claimants.size === 0) warn('unclaimed', 'no agent has it in its views');
    if (living.length === 0) return;
    const whole = holders.filter((agent) => !lagging.has(agent));
    if (whole.length === holders.length) return;
    this.hostsWithFewCopies++;
    warn(
      'few-copies',
      `complete at ${whole.join(', ') || 'no agent'}, not at ${[...lagging].join(', ')}`,
    );
  }

  /**
   * Ends the count of a file.
   *
   * @param records - page records in the file, with and without a URL
   */
  close(agent: string, records: number): void {
    const lost = records - (this.#records.get(agent) ?? 0);
    if (lost !== 0) this.#problem('bad-row', agent, '', `${lost} page records belong to no URL`);
  }

  /** Reports a URL that no agent in view has: a problem if it is queued though the crawl is complete. */
  #onlyGone(url: string, agent: string, queued: boolean): void {
    if (queued && this.#owners.complete) {
      const says = 'queued only at this agent, which is not in view; start it to fetch the URL';
      return this.#problem('only-gone', agent, url, says);
    }
    const says = 'known only to this agent, which is not in view';
    this.warnings.add({ kind: 'only-gone', agent, of: url, says });
  }

  #problem(kind: Finding['kind'], agent: string, of: string, says: string): void {
    this.problems.add({ kind, agent, of, says });
  }

  #isInView(agent: string): boolean {
    return this.#owners.view.includes(agent);
  }
}

/** Whether the server was temporarily unable or unwilling to serve the page. */
function isServerError(status: number | null): boolean {
  return status === 429 || (status ?? 0) >= 500;
}

/** The row as a claim, or why the views cannot show it. */
export function claimOf({ agent, state, round, reason, record }: StoredRow): Standing | string {
  if (state === 0) {
    if (record) return 'queued, though its page is recorded';
    return { agent, round, state: 'queued', fetchedAt: null };
  }
  if (state === 3) {
    if (record) return 'skipped, though its page is recorded';
    return reason === null
      ? 'skipped without a reason'
      : { agent, round, state: 'skipped', fetchedAt: null };
  }
  if (state !== 1 && state !== 2) return `in no known state (${state})`;
  if (record === null) return 'fetched, without a page record';
  const { status, fetchedAt } = record;
  if ((status === null) !== (state === 2)) return `state ${state} with the status ${status}`;
  return { agent, round, state: state === 1 ? 'response' : 'failed', fetchedAt };
}
