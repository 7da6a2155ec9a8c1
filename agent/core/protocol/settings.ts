// What the core is told once, at its making. The two functions keep it free of I/O and of a
// second opinion on placement: the composition root passes the ring and SHA-256, the simulator
// passes what it likes.

import type { Assignment, RingMember } from '../../../assignment/assignment.ts';
import type { Bounds } from './bounds.ts';
import type { Peer } from './effects.ts';
import type { AgentId, Host } from './messages.ts';

export type BuildAssignment = (members: readonly RingMember[]) => Assignment;

export interface CoreSettings {
  readonly id: AgentId;
  readonly capacity: number;
  /** What peers connect to. */
  readonly address: string;
  /** All agents of the config, this one included. */
  readonly configured: readonly Peer[];
  /** Those without which this process must not join; absent: none. */
  readonly awaits?: readonly AgentId[];
  /** t: copies of each host's state at other agents. */
  readonly backups: number;
  readonly quorum: 'none' | 'majority';
  readonly heartbeatMs: number;
  readonly suspectAfterMs: number;
  readonly leaseMs: number;
  /** From the end of one request to a host to the start of the next, by the config alone. */
  readonly delayMs: (host: Host) => number;
  /** From the end of one request to an address to the start of the next; 0: addresses are free. */
  readonly ipDelayMs: number;
  /** Pages of the whole crawl; null: no limit. */
  readonly pagesMax: number | null;
  readonly bounds: Bounds;
  /** Of the hash of the filter of repeats: a whole number below 2^53 that sites cannot know. */
  readonly seenKey: number;
  /** Of the proofs of addresses and the greetings: a text that nobody outside this process knows. */
  readonly proofKey: string;
  readonly fingerprint: string;
  readonly fingerprintHash: string;
  /** The first path at which two fingerprints differ, with both values, or null. */
  readonly compare: (mine: string, theirs: string) => Difference | null;
  readonly build: BuildAssignment;
  /** Names two agents that share a point of the ring, or null. */
  readonly collision: (members: readonly RingMember[]) => { a: string; b: string } | null;
  /** A short collision-resistant digest of a text. */
  readonly digest: (text: string) => string;
}

export interface Difference {
  readonly path: string;
  readonly a: string;
  readonly b: string;
}

/** Silence of a member after which messages to it are also relayed; the lease must not lapse before. */
export function unheardMs(settings: Pick<CoreSettings, 'heartbeatMs' | 'suspectAfterMs'>): number {
  return Math.min(3 * settings.heartbeatMs, settings.suspectAfterMs / 2);
}

/** Unanswered messages are sent again after this: a few round trips, well under a heartbeat. */
export function resendAfterMs(settings: Pick<CoreSettings, 'heartbeatMs'>): number {
  return Math.max(50, settings.heartbeatMs / 2);
}
