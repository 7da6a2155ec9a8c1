// The parameters of the core. Placement and digests are passed as functions, so the core does no
// I/O and the simulator can replace them.

import type { Assignment, RingMember } from '../../../assignment/assignment.ts';
import type { Bounds } from './bounds.ts';
import type { Peer } from './effects.ts';
import type { AgentId, Host } from './messages.ts';

export type BuildAssignment = (members: readonly RingMember[]) => Assignment;

export interface CoreSettings {
  readonly id: AgentId;
  readonly capacity: number;
  /** The address to which peers connect. */
  readonly address: string;
  /** All agents of the config, this one included. */
  readonly configured: readonly Peer[];
  /** Agents that this process must meet before it joins; absent: none. */
  readonly awaits?: readonly AgentId[];
  /** The members at the end of the crawl, if an earlier process has completed it (rule 14). */
  readonly completedBy?: readonly AgentId[];
  /** Copies of each host's rows at other agents: *t* in the protocol. */
  readonly backups: number;
  readonly quorum: 'none' | 'majority';
  readonly heartbeatMs: number;
  readonly suspectAfterMs: number;
  readonly leaseMs: number;
  /** The configured delay from the end of one request to a host to the start of the next. */
  readonly delayMs: (host: Host) => number;
  /** From the end of one request to an IP address to the start of the next; 0: no limit. */
  readonly ipDelayMs: number;
  /** Pages of the whole crawl; null: no limit. */
  readonly pagesMax: number | null;
  readonly bounds: Bounds;
  /** Hash key of the filter of repeated URLs: an integer below 2^53 that sites cannot know. */
  readonly seenKey: number;
  /** Key of address proofs and greetings, secret to this process. */
  readonly proofKey: string;
  readonly fingerprint: string;
  readonly fingerprintHash: string;
  /** The first path at which two fingerprints differ, with both values, or null. */
  readonly compare: (mine: string, theirs: string) => Difference | null;
  readonly build: BuildAssignment;
  /** Two agents that share a point of the ring, or null. */
  readonly collision: (members: readonly RingMember[]) => { a: string; b: string } | null;
  /** A short collision-resistant digest of a text. */
  readonly digest: (text: string) => string;
}

export interface Difference {
  readonly path: string;
  readonly a: string;
  readonly b: string;
}

/**
 * Time without a heartbeat of a member after which messages to it are also relayed. It is less than
 * the lease, so that relayed echoes arrive in time.
 */
export function unheardMs(settings: Pick<CoreSettings, 'heartbeatMs' | 'suspectAfterMs'>): number {
  return Math.min(3 * settings.heartbeatMs, settings.suspectAfterMs / 2);
}

/** Time after which unanswered messages are resent: a few round trips, less than a heartbeat. */
export function resendAfterMs(settings: Pick<CoreSettings, 'heartbeatMs'>): number {
  return Math.max(50, settings.heartbeatMs / 2);
}
