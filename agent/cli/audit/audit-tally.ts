// The account of a crawl, URL by URL: known = done + queued + skipped + failed over the cluster.
// Known is what the tables of any file name, outboxes included; the four classes are what the
// merged files say of it, by the same rule as `query`. While agents run the furthest word counts,
// since hosts are on the move; once the crawl is complete nothing moves any more, and then every
// URL must be in the views of an agent, the owner be no less far than any copy, the copies be no
// less far than the owner, and nothing be left to do. Pure; fed by `audit-command.ts`.

import { identityOf } from '../../url/url-key.ts';
import { HOST_ERRORS } from '../state-files/host-errors.ts';
import { isFurther, type Standing, standing } from '../state-files/query-merge.ts';
import type { Owners } from '../state-files/query-owners.ts';
import type { FileHost, StoredRow, WalkedHost, WalkedUrl } from './audit-walk.ts';

/** Cases kept of each list: enough to see what they have in common. */
const samplesMax = 100;

/** What does not add up, or deserves a word. */
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
  /** In whose file. */
  readonly agent: string | null;
  /** A URL, or a host where all of it is concerned. */
  readonly of: string;
  readonly says: string;
}

/** The first findings and how many there are. */
export class Findings {
  readonly list: Finding[] = [];
  count = 0;

  add(finding: Finding): void {
    this.count++;
    if (this.list.length < samplesMax) this.list.push(finding);
  }
}

type TallyOwners = Pick<Owners, 'view' | 'complete' | 'owner' | 'holders'>;

/** A host with what its URLs are compared against. */
interface HostInHand {
  readonly host: string;
  readonly owner: string | undefined;
  readonly holders: readonly string[];
  readonly claimants: ReadonlySet<string>;
  /** Agents whose copy lacks something. */
  readonly lagging: Set<string>;
  /** By agent: queued rows and pages seen. */
  readonly seen: Map<string, { queued: number; pages: number }>;
}

export class AuditTally {
  readonly #owners: TallyOwners;
  readonly problems = new Findings();
  readonly warnings = new Findings();
  known = 0;
  done = 0;
  queued = 0;
  failed = 0;
  /** Part of `queued`: in an outbox, and in no file's table yet. */
  onTheWay = 0;
  /** Part of `done`: the last answer was 429 or 5xx. */
  serverErrors = 0;
  /** Hosts that were given up, or of which URLs failed and none got a response. */
  hostsUnreachable = 0;
  /** Fetched, and not known to be safe with all links yet. */
  unsettled = 0;
  readonly skipped = new Map<string, number>();
  hosts = 0;
  /** Hosts of which fewer agents have everything than should. */
  hostsWithFewCopies = 0;
  /** URLs of which a copy is less, or more, far than the owner. */
  behind = 0;
  ahead = 0;
  /** Failed because of their host. */
  #givenUp = 0;
  /** Page records met, by agent. */
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

  /** Takes a host in, with all its URLs. */
  add({ host, files, urls }: WalkedHost): void {
    const claimants = new Set(files.filter(({ owned }) => owned).map(({ agent }) => agent));
    const hand: HostInHand = {
      host,
      owner: this.#owners.owner(host),
      holders: this.#owners.holders(host),
      claimants,
      lagging: new Set(),
      seen: new Map(files.map(({ agent }) => [agent, { queued: 0, pages: 0 }])),
    };
    let stored = 0;
    const [doneBefore, failedBefore, givenUpBefore] = [this.done, this.failed, this.#givenUp];
    for (const url of urls) {
      this.known++;
      if (url.rows.length > 0) stored++;
      this.#addUrl(hand, url);
    }
    const isSilent = this.failed > failedBefore && this.done === doneBefore;
    if (isSilent || this.#givenUp > givenUpBefore) this.hostsUnreachable++;
    for (const file of files) this.#checkCounters(hand, file);
    if (stored === 0) return;
    this.hosts++;
    this.#checkCopies(hand, files);
  }

  #addUrl(hand: HostInHand, url: WalkedUrl): void {
    const identity = identityOf(hand.host, url.key);
    if (url.rows.length === 0) return this.#addOnTheWay(identity, url.onTheWayFrom);
    const claims: Standing[] = [];
    for (const row of url.rows) {
      this.#count(hand, row);
      const claim = claimOf(row);
      if (typeof claim !== 'string') claims.push(claim);
      else this.#problem('bad-row', row.agent, identity, claim);
    }
    this.#classify(hand, identity, url, claims);
    if (claims.length === url.rows.length) this.#compare(hand, identity, claims);
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

  #count({ seen }: HostInHand, { agent, state, record }: StoredRow): void {
    const counts = seen.get(agent)!;
    if (state === 0) counts.queued++;
    if (state === 1 || state === 2) counts.pages++;
    if (record) this.#records.set(agent, (this.#records.get(agent) ?? 0) + 1);
  }

  /** Puts the URL in its class, by the word that stands. */
  #classify(hand: HostInHand, url: string, walked: WalkedUrl, claims: readonly Standing[]): void {
    const { complete } = this.#owners;
    const said = complete ? claims.filter(({ agent }) => hand.claimants.has(agent)) : claims;
    if (said.length === 0) {
      const agents = walked.rows.map(({ agent }) => agent).join(', ');
      const says = `in the tables of ${agents}, and in no agent's views`;
      return this.#problem('no-class', walked.rows[0]!.agent, url, says);
    }
    const winner = standing(said, hand.owner);
    const row = walked.rows.find(({ agent }) => agent === winner.agent)!;
    if (winner.state === 'response') {
      this.done++;
      if (isServerError(row.record?.status ?? null)) this.serverErrors++;
    } else if (winner.state === 'failed') {
      this.failed++;
      if (HOST_ERRORS.includes(row.record?.error ?? '')) this.#givenUp++;
    } else if (winner.state === 'queued') this.queued++;
    else this.skipped.set(row.reason!, 1 + (this.skipped.get(row.reason!) ?? 0));
    if (!row.settled && winner.state !== 'queued') this.unsettled++;
    const living = walked.rows.some(({ agent }) => this.#isInView(agent));
    if (!living) return this.#onlyGone(url, winner.agent, winner.state === 'queued');
    if (!complete || !this.#isInView(winner.agent) || row.settled) return;
    const what = winner.state === 'queued' ? 'queued' : 'fetched and not settled';
    this.#problem('left-over', winner.agent, url, `${what}, though the crawl is complete`);
  }

  /** The owner against the copies, among the agents in view. */
  #compare(hand: HostInHand, url: string, claims: readonly Standing[]): void {
    const { complete } = this.#owners;
    const living = claims.filter(({ agent }) => this.#isInView(agent));
    if (living.length === 0 || hand.owner === undefined) return;
    const owner = living.find(({ agent }) => agent === hand.owner);
    const first = owner ?? standing(living, hand.owner);
    for (const copy of living) {
      if (owner && !isFurther(copy, owner)) continue;
      this.ahead++;
      if (!complete) break;
      const than = owner ? `${owner.agent}, its owner, says ${owner.state}` : 'its owner lacks it';
      this.#problem('ahead', copy.agent, url, `its copy is further (${copy.state}): ${than}`);
    }
    for (const agent of hand.holders) {
      const copy = living.find((claim) => claim.agent === agent);
      if (copy && !isFurther(first, copy)) continue;
      hand.lagging.add(agent);
      if (agent === hand.owner) continue;
      this.behind++;
      if (!complete) continue;
      const has = copy ? `its copy says ${copy.state}` : 'its copy lacks it';
      this.#problem('behind', agent, url, `${has}; ${first.agent} says ${first.state}`);
    }
  }

  #checkCounters({ host, seen }: HostInHand, { agent, queued, pages }: FileHost): void {
    const counted = seen.get(agent)!;
    if (counted.queued === queued && counted.pages === pages) return;
    const rows = `its rows are ${counted.queued} queued and ${counted.pages} fetched`;
    this.#problem('counter', agent, host, `counts ${queued} queued and ${pages} fetched; ${rows}`);
  }

  #checkCopies({ host, holders, claimants, lagging }: HostInHand, files: readonly FileHost[]) {
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
      `whole at ${whole.join(', ') || 'no agent'}, not at ${[...lagging].join(', ')}`,
    );
  }

  /** Ends the account of a file: `records` page records are in it, with and without a URL. */
  close(agent: string, records: number): void {
    const lost = records - (this.#records.get(agent) ?? 0);
    if (lost !== 0) this.#problem('bad-row', agent, '', `${lost} page records belong to no URL`);
  }

  /** A complete crawl has nothing queued, at no agent: what only a former one queued is missing. */
  #onlyGone(url: string, agent: string, queued: boolean): void {
    if (queued && this.#owners.complete) {
      const says =
        'queued at this agent alone, which is in view no more; start it: it goes on there';
      return this.#problem('only-gone', agent, url, says);
    }
    const says = 'known only to this agent, which is in view no more; it would bring it back';
    this.warnings.add({ kind: 'only-gone', agent, of: url, says });
  }

  #problem(kind: Finding['kind'], agent: string, of: string, says: string): void {
    this.problems.add({ kind, agent, of, says });
  }

  #isInView(agent: string): boolean {
    return this.#owners.view.includes(agent);
  }
}

/** The answer of a server that could not, or would not, serve the page at that time. */
function isServerError(status: number | null): boolean {
  return status === 429 || (status ?? 0) >= 500;
}

/** The row as a claim, or what is wrong with it: what no view shows as the state says. */
function claimOf({ agent, state, round, reason, record }: StoredRow): Standing | string {
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
