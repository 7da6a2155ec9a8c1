// What is demanded of a crawl that went through a fault: by the web server's log (nothing missing,
// nothing forbidden, one request at a host at a time, none too soon), by the exit codes, and by the
// agents' own files, which must be whole and must agree with each other. Used by all chaos tests,
// so that each says only what its fault is allowed to cost.

import assert from 'node:assert/strict';
import { brokenMarks } from '../checkers/marks.ts';
import { brokenRows } from '../checkers/rows.ts';
import type { Judgement } from '../web/judge.ts';
import type { RunningWeb } from '../web/server.ts';
import type { Ended } from './harness-process.ts';
import type { StateFile } from './harness-state.ts';

/** How a crawl went, when all its agents have ended. */
export interface Verdict {
  readonly judgement: Judgement;
  /** The last end of each agent that was ever started. */
  readonly ends: readonly Ended[];
  readonly web: RunningWeb;
  state(id: string): StateFile;
}

const none = { count: 0, samples: [] };

/** What the fault is allowed to cost; nothing where nothing is said. */
export interface Costs {
  /** Pages fetched again. */
  readonly overlapMax?: number;
  /** Requests that overlap with another at their host, or come too soon after one. */
  readonly strayMax?: number;
}

/** Open requests that the agents gave up, by their own events. */
export function abortedIn({ ends, state }: Pick<Verdict, 'ends' | 'state'>): number {
  const events = ends.flatMap(({ id }) => state(id).events('abort'));
  return events.reduce((sum, { detail }) => sum + Number(detail.requests), 0);
}

/** Holds whatever befalls the agents. */
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
 * Every page was fetched, politely, and again only as far as the fault excuses it; every agent that
 * was not killed ended with 0; every state file is whole and the last agents' files tell the same.
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

/** Those that saw the end by themselves: their files together are the crawl. */
export function enders({ ends }: Verdict): readonly string[] {
  const saw = ({ code, stderr }: Ended) => code === 0 && /: the crawl is complete$/m.test(stderr);
  return ends.filter(saw).map(({ id }) => id);
}

/** Every URL that must be crawled is a page of exactly one agent that saw the end; none is queued. */
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
  assert.deepEqual(unknown, [], 'fetched, and in no file');
}

/** As the agents write it: without the port that a scheme implies there is none to drop. */
function plain(url: string): string {
  return new URL(url).href;
}
