// The requirements for a crawl after a fault. They check the web server's log (no missing page, no
// forbidden request, one request at a host at a time, none too early), the exit codes, and the
// agents' files, which must be intact and agree. Each chaos test only states what its fault may
// cost.

import assert from 'node:assert/strict';
import { brokenMarks } from '../checkers/marks.ts';
import { brokenRows } from '../checkers/rows.ts';
import type { Judgement } from '../web/judge.ts';
import type { RunningWeb } from '../web/server.ts';
import type { Ended } from './harness-process.ts';
import type { StateFile } from './harness-state.ts';

/** The course of a crawl after all its agents ended. */
export interface Verdict {
  readonly judgement: Judgement;
  /** The last exit of each agent that was ever started. */
  readonly ends: readonly Ended[];
  readonly web: RunningWeb;
  state(id: string): StateFile;
}

const none = { count: 0, samples: [] };

/** The allowed costs of the fault; none by default. */
export interface Costs {
  /** Pages that may be fetched again. */
  readonly overlapMax?: number;
  /** Requests that may overlap with another at their host or follow it too early. */
  readonly strayMax?: number;
}

/** Number of open requests that the agents aborted, according to their events. */
export function abortedIn({ ends, state }: Pick<Verdict, 'ends' | 'state'>): number {
  const events = ends.flatMap(({ id }) => state(id).events('abort'));
  return events.reduce((sum, { detail }) => sum + Number(detail.requests), 0);
}

/** Holds under every fault. */
export function assertPolite({ judgement }: Verdict, { strayMax = 0 }: Costs = {}): void {
  const { forbidden, unknown, beforeRobots, concurrent, tooSoon } = judgement;
  const strays = concurrent.count + tooSoon.count;
  assert.deepEqual(
    { forbidden, unknown, beforeRobots },
    { forbidden: none, unknown: none, beforeRobots: none },
  );
  const samples = [...concurrent.samples, ...tooSoon.samples].join('\n');
  assert.ok(strays <= strayMax, `${strays} stray requests, ${strayMax} allowed:\n${samples}`);
}

/**
 * Asserts that every page was fetched, politely, and again only as far as the fault excuses it.
 * Every agent that was not killed ended with 0, every state file is intact, and the files of the
 * last agents agree.
 */
export function assertWhole(verdict: Verdict, costs: Costs = {}): void {
  const { judgement, ends } = verdict;
  for (const { id, code, signal, stderr } of ends) {
    if (signal !== 'SIGKILL') assert.equal(code, 0, `${id} ended with ${code}: ${stderr}`);
  }
  assertPolite(verdict, costs);
  assert.deepEqual(judgement.missing, none);
  const { overlap } = judgement;
  const overlapMax = costs.overlapMax ?? 0;
  const again = `${overlap.count} fetched again, ${overlapMax} allowed: ${overlap.samples}`;
  assert.ok(overlap.count <= overlapMax, again);
  assertStates(verdict);
}

/** The agents that ended when they saw the crawl complete. Their files together are the crawl. */
export function enders({ ends }: Verdict): readonly string[] {
  const saw = ({ code, stderr }: Ended) => code === 0 && /: the crawl is complete$/m.test(stderr);
  return ends.filter(saw).map(({ id }) => id);
}

/**
 * Asserts that each required URL is a page of exactly one agent that saw the end, and that none is
 * queued.
 */
function assertStates(verdict: Verdict): void {
  for (const { id } of verdict.ends) {
    if (verdict.state(id).exists()) assert.equal(verdict.state(id).integrity(), 'ok', id);
  }
  const last = enders(verdict);
  assert.ok(last.length > 0, 'no agent saw the end');
  const owners = new Map<string, string>();
  for (const id of last) {
    const { pages, frontier, outbox } = verdict.state(id).state();
    assert.deepEqual({ frontier, outbox }, { frontier: [], outbox: [] }, `${id} had work left`);
    for (const { url } of pages) {
      assert.equal(owners.get(url), undefined, `${url} is a page of two agents`);
      owners.set(url, id);
    }
  }
  const files = new Map(last.map((id) => [id, verdict.state(id).open()]));
  assert.deepEqual([...brokenRows(files), ...brokenMarks(files)], []);
  for (const db of files.values()) db.close();
  const unknown = [...verdict.web.web.expected().must].filter((url) => !owners.has(plain(url)));
  assert.deepEqual(unknown, [], 'fetched, but in no file');
}

/** The URL as the agents write it, without an implied port. */
function plain(url: string): string {
  return new URL(url).href;
}
