// Checks the wall clock at the start of an agent against the times at which the state files of its
// data directory were last written. An incarnation begins with the wall clock, and other agents
// refuse one that is too far ahead. The check must come before the first write to the state.

import fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { Message } from '../core/protocol/messages.ts';

const DAY_MS = 24 * 3600 * 1000;
/** A clock that is further ahead is refused, at the start and by other agents. */
export const AHEAD_MS_MAX = 366 * DAY_MS;
/** A clock that is further behind gives a warning. */
const BEHIND_MS_MAX = DAY_MS;

type ClockVerdict =
  | { readonly verdict: 'plausible' }
  | { readonly verdict: 'behind' | 'ahead'; readonly message: string };

/**
 * @param directory - `DATA/ID` of the agent
 * @param nowMs - Unix milliseconds of the wall clock
 */
export function judgeClock(directory: string, nowMs: number): ClockVerdict {
  const newest = newestStateIn(dirname(directory));
  if (newest === null) return { verdict: 'plausible' };
  const aheadMs = nowMs - newest.ms;
  if (aheadMs >= -BEHIND_MS_MAX && aheadMs <= AHEAD_MS_MAX) return { verdict: 'plausible' };
  const clock = `the clock of this machine says ${timeText(nowMs)}`;
  const written = `${newest.path} was last written at ${timeText(newest.ms)}`;
  if (aheadMs < 0)
    return {
      verdict: 'behind',
      message: `${clock}, but ${written}; if the clock is wrong, set it`,
    };
  const message =
    `${clock}, but ${written}, more than 366 days earlier: set the clock and start again; if the ` +
    `clock is right, confirm it with 'touch ${newest.path}'`;
  return { verdict: 'ahead', message };
}

/** Checks all agents of the data directory, because a new one has no state of its own. */
function newestStateIn(dataDir: string): { path: string; ms: number } | null {
  let newest: { path: string; ms: number } | null = null;
  for (const id of namesIn(dataDir)) {
    const path = join(dataDir, id, 'state.sqlite');
    for (const file of [path, `${path}-wal`]) {
      const ms = modifiedAt(file);
      if (ms !== null && ms > (newest?.ms ?? Number.NEGATIVE_INFINITY)) newest = { path, ms };
    }
  }
  return newest;
}

function namesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch {
    return [];
  }
}

function modifiedAt(file: string): number | null {
  try {
    return fs.statSync(file).mtimeMs;
  } catch {
    return null;
  }
}

/** The incarnation of another agent may be outside the range of dates. */
function timeText(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.valueOf()) ? `${ms} ms after 1970` : time.toISOString();
}

/** The answer to an agent whose incarnation, and so its clock at its start, is too far ahead. */
export function clockRefusal(to: {
  readonly id: string;
  readonly inc: number;
  /** From its HELLO. */
  readonly greeting?: string | undefined;
  /** Whether this agent has joined. */
  readonly joined: boolean;
  readonly nowMs: number;
}): Extract<Message, { type: 'REFUSED' }> {
  const path =
    `its clock or that of its stored incarnation says ${timeText(to.inc)}, the clock here says ` +
    `${timeText(to.nowMs)}, which is more than 366 days apart: set the clock that is wrong; ` +
    `state that began with the wrong clock has to be deleted before ${to.id} is started again`;
  const { id, joined, greeting } = to;
  const answer = { type: 'REFUSED', path, yours: id, theirs: '', joined } as const;
  return greeting === undefined ? answer : { ...answer, greeting };
}
