// The subtrees that an agent leads: the largest one for each of its identifiers in which no other
// agent has a smaller identifier.

import { bitAt, KEY_BITS, type Key } from '../../../assignment/identifiers.ts';
import type { AgentId } from '../../core/protocol/messages.ts';
import { hexOf, isIn, type Prefix, prefixOf, siblingOf } from '../routing/contact.ts';

/** A path of this agent, with all agents of its region. */
export interface LedPath {
  readonly key: Key;
  readonly length: number;
  /** The smallest identifier in the region, of this agent or another one that takes hosts. */
  readonly first: Key;
  /** The agents with identifiers in the region, and this one. */
  readonly agents: readonly AgentId[];
  /** The subtrees beside the path, for each level above the region. */
  readonly beside: readonly ('empty' | 'occupied' | 'doubtful')[];
  /** All agents beside the path at a level, if they are so few that they watch this agent. */
  readonly few: (level: number) => readonly AgentId[] | null;
}

/** A subtree that this agent leads. */
export interface Duty {
  readonly region: Prefix;
  readonly key: Key;
  /** The agents whose heartbeats this agent has. */
  readonly agents: readonly AgentId[];
  /** The levels at which the subtree beside the path reports to this agent. */
  readonly needs: readonly number[];
  /** Levels above the region of the path. */
  readonly levels: number;
  /** A key whose nearest agent leads the next larger subtree; null: this one leads the space. */
  readonly parentKey: Key | null;
}

/** The subtree that the path's identifier leads; null: another agent leads its region. */
export function dutyOf(path: LedPath): Duty | null {
  const { key, length, first, beside } = path;
  if (length === KEY_BITS || first < key) return null;
  const needs: number[] = [];
  const agents = new Set(path.agents);
  for (let level = length - 1; level >= 0; level--) {
    if (beside[level] === 'empty') continue;
    if (beside[level] === 'doubtful') return null;
    const few = path.few(level);
    if (bitAt(key, level) === 0) {
      if (few) for (const id of few) agents.add(id);
      else needs.push(level);
      continue;
    }
    // The agents beside the path have this region in theirs.
    if (few) return null;
    const parentKey = siblingOf(key, level).bits;
    const region = prefixOf(key, level + 1);
    return { region, key, agents: [...agents], needs, levels: length, parentKey };
  }
  const region = prefixOf(key, 0);
  return { region, key, agents: [...agents], needs, levels: length, parentKey: null };
}

/**
 * Whether the key is in the part of the subtree that no other leader reports. Each key is in one such
 * part, so an agent is counted where its first identifier is.
 */
export function isInPart({ region, key, needs }: Duty, of: Key): boolean {
  if (!isIn(of, region)) return false;
  return needs.every((level) => !isIn(of, siblingOf(key, level)));
}

export function nameOf({ bits, length }: Prefix): string {
  return `${hexOf(bits)}/${length}`;
}
