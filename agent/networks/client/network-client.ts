// The agent's side of the protocol between networks: the parts of an agent in one place. `pump` starts the
// calls to Redis that are due and applies the results of those that have ended, so that decisions
// are made only in a turn of the core.

import type { Instant } from '../../../failure-detector/instant.ts';
import { Centre } from '../centre.ts';
import { type HostEntry, HostLeases } from '../host-leases.ts';
import type { NetworkParts } from '../network-settings.ts';
import { type Report, Reporter, type ReportStore, type Standing } from '../reporter.ts';
import { Submitter, type VerdictStore } from '../submitter.ts';
import { type GiftStore, Gifts } from './gifts.ts';
import { Rest } from './rest.ts';

interface Standings {
  standingOf(identity: string): Standing;
}

export interface NetworkClientParts extends NetworkParts {
  readonly store: VerdictStore & ReportStore & GiftStore & Standings;
  /** This agent owns the network's name: it is to be the centre. */
  readonly isCentreWanted: () => boolean;
  /** The agents of this network. `isPartial`: there may be others. */
  readonly members: () => { readonly agents: readonly string[]; readonly isPartial: boolean };
  /** This agent has nothing to do, to send or to wait for. */
  readonly isDone: () => boolean;
  /** Ends the idle period of this agent. */
  readonly activity: () => void;
  /** The host's lease has been granted. */
  readonly wakeHost: (host: string) => void;
}

export class NetworkClient {
  readonly #submitter: Submitter;
  readonly #reporter: Reporter;
  readonly #centre: Centre;
  readonly #leases: HostLeases;
  readonly #rest: Rest;
  readonly #gifts: Gifts;
  readonly #serverRun: () => string;
  #lastServerRun: string;
  #now: Instant = { mono: 0, wall: 0 };

  constructor(parts: NetworkClientParts) {
    this.#serverRun = parts.serverRun ?? (() => '');
    this.#lastServerRun = this.#serverRun();
    this.#reporter = new Reporter({
      ...parts,
      standingOf: (identity) =>
        this.#submitter.isAsking(identity) ? 'queued' : parts.store.standingOf(identity),
    });
    this.#submitter = new Submitter({
      ...parts,
      release: (identity) => this.#reporter.report([{ identity, kind: 'released' }], this.#now),
      claimsMissing: () => this.#reporter.claimsMissing(),
      sends: () => this.#centre.kick(),
    });
    const isWanted = parts.isCentreWanted;
    this.#centre = new Centre({
      ...{ ...parts, isWanted, now: () => this.#now },
      settled: (verdict) => this.#submitter.arrived(verdict),
    });
    this.#leases = new HostLeases(parts);
    this.#rest = new Rest(parts);
    const mark = () => this.#rest.mark;
    this.#gifts = new Gifts({ ...parts, mark, isLeading: () => this.isCentre });
  }

  pump(now: Instant): void {
    this.#now = now;
    this.#noticeRestart();
    this.#submitter.pump(now);
    this.#reporter.pump(now);
    this.#centre.pump(now);
    // No host is visited before the claims of its URLs were looked at.
    if (this.#reporter.hasLooked(now)) this.#leases.pump(now);
    this.#rest.pump(now);
    this.#gifts.pump(now);
  }

  /** Another process of Redis may have lost the pools: until they are filled, verdicts are partial. */
  #noticeRestart(): void {
    const run = this.#serverRun();
    if (run === this.#lastServerRun) return;
    this.#lastServerRun = run;
    this.#reporter.serverChanged();
    this.#centre.serverChanged();
  }

  /** URLs that wait for a verdict. */
  offer(identities: readonly string[], now: Instant): void {
    this.#submitter.offer(identities, now);
  }

  report(reports: readonly Report[], now: Instant): void {
    this.#reporter.report(reports, now);
  }

  /** This agent has taken hosts over, with URLs that wait and reports. */
  storeChanged(): void {
    this.#submitter.storeChanged();
    this.#reporter.storeChanged();
  }

  enterHost(host: string, delayMs: number, now: Instant): HostEntry {
    return this.#leases.enter(host, delayMs, now);
  }

  requestEnded(host: string, endedAtMs: number, delayMs: number): void {
    this.#leases.ended(host, endedAtMs, delayMs);
  }

  leaveHost(host: string, now: Instant): void {
    this.#leases.leave(host, now);
  }

  handedOver(host: string): void {
    this.#leases.forget(host);
  }

  mayGoOn(host: string, now: Instant): boolean {
    return this.#leases.mayGoOn(host, now);
  }

  /** Every URL has a verdict, and Redis has confirmed every report and release. */
  get isQuiet(): boolean {
    return this.#submitter.isQuiet && this.#reporter.isQuiet && this.#leases.isQuiet;
  }

  /** Called while the cluster is complete: whether all networks are at rest. */
  mayEnd(): boolean {
    return this.#rest.mayEnd();
  }

  /** This agent is about to end. Whether Redis has confirmed all reports and releases, and no role. */
  tellAll(): boolean {
    this.#reporter.hurry();
    this.#centre.kick();
    return this.#reporter.hasTold && this.#leases.isQuiet && this.#centre.hasResigned;
  }

  get isCentre(): boolean {
    return this.#centre.isLeading;
  }

  /** When `pump` next has work (mono). */
  nextAtMs(now: Instant): number {
    const leasesAtMs = this.#reporter.hasLooked(now) ? this.#leases.nextAtMs(now) : Infinity;
    return Math.min(
      leasesAtMs,
      this.#submitter.nextAtMs(),
      this.#reporter.nextAtMs(),
      this.#centre.nextAtMs(),
      this.#rest.nextAtMs(),
      this.#gifts.nextAtMs(),
    );
  }

  /** Hosts may be visited: the URLs that are queued here have their claims. */
  hasLooked(now: Instant): boolean {
    return this.#reporter.hasLooked(now);
  }

  /** For `explain`. */
  leaseWaitOf(host: string, now: Instant) {
    return this.#leases.waitOf(host, now);
  }

  askingSince(isMeant: (identity: string) => boolean): number | null {
    return this.#submitter.askingSince(isMeant);
  }

  /** For `status`. */
  status(now: Instant) {
    return {
      submitter: this.#submitter.counts(),
      reporter: { ...this.#reporter.counts(), isFilling: this.#reporter.isFilling },
      centre: this.isCentre ? this.#centre.counts() : null,
      absent: this.#centre.absent(now),
      leases: this.#leases.counts(now),
      awaited: this.#rest.awaited,
      gifts: this.#gifts.counts(),
    };
  }
}
