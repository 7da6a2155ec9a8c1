// The events of one agent, from its state file, in the order in which they were written.

import path from 'node:path';
import { EVENTS_AFTER, LAST_EVENT } from '../../storage/reads/monitor-queries.ts';
import { openStateFile } from '../common/query-files.ts';
import type { OpenState } from './kept-copies.ts';

/** Events of one reading; the next one continues. */
export const EVENTS_MAX = 500;
/** Events that a reader gets that has none. */
const EARLIER = 100;

export interface AgentEvents {
  /** The number of the last event; later ones have higher numbers. */
  readonly last: number;
  /**
   * It is made from the time of the first event, so it changes when a new state replaces the old one.
   * Empty if there is no event, or if the agent of another machine is too old to send it.
   */
  readonly mark: string;
  readonly events: readonly {
    readonly number: number;
    /** Unix milliseconds. */
    readonly at: number;
    readonly kind: string;
    /** JSON. */
    readonly detail: string;
  }[];
}

/**
 * @param after - the number of the last event that the reader has; null: it has none, and gets the
 *   last ones. A number beyond the last event is of a state that was deleted since, and counts as null.
 * @returns null if the file cannot be read
 */
export function eventsOf(
  dataDir: string,
  agent: string,
  after: number | null,
  open: OpenState = openStateFile,
): AgentEvents | null {
  const file = open(agent, path.join(dataDir, agent, 'state.sqlite'));
  if (file === null || typeof file === 'string') return null;
  try {
    const last = Number(file.first(LAST_EVENT)?.last ?? 0);
    const [first] = file.rows(EVENTS_AFTER, 0, 1);
    const isKnown = after !== null && after <= last;
    const from = isKnown ? after : Math.max(last - EARLIER, 0);
    const events = [...file.rows(EVENTS_AFTER, from, EVENTS_MAX)].map(
      ([number, at, kind, detail]) => {
        return {
          ...{ number: Number(number), at: Number(at) },
          ...{ kind: String(kind), detail: String(detail) },
        };
      },
    );
    return { last, mark: markOf(first?.[1]), events };
  } catch {
    // The file is being replaced; the next reading finds it.
    return null;
  } finally {
    file.close();
  }
}

/** Short, since an identifier in the event stream has the marks of all agents. */
const MARK_CHARS = 4;

/** @param at - Unix milliseconds */
function markOf(at: unknown): string {
  return at === undefined ? '' : Number(at).toString(36).slice(-MARK_CHARS);
}
