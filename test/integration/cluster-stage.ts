// The set-up shared by `cluster.test.ts` and `slow/cluster.test.ts`.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Judgement, judge } from '../web/judge.ts';
import { type RunningWeb, startWeb } from '../web/server.ts';
import { type Ended, Scratch, until } from './cli-process.ts';

export const delayMs = 40;
export const size = { hosts: 12, pages: 12, port: 0, answerMs: 5 };
export const shares = { flaky: 0, slow: 0 };

export interface Crawl {
  readonly web: RunningWeb;
  readonly scratch: Scratch;
  readonly config: string;
  /** Resolves after `count` more requests. */
  served(count: number): Promise<void>;
}

/** @param second - second byte of the addresses of the web; no other test uses it */
export async function crawlOf(
  t: TestContext,
  second: number,
  agents: number,
  seeds: readonly string[] = [],
  cluster: Readonly<Record<string, unknown>> = {},
): Promise<Crawl> {
  const web = await startWeb({ ...size, shares, net: second });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const more = { seeds: [web.seed, ...seeds], politeness: { hostDelayMs: delayMs } };
  const config = await scratch.config(agents, more, cluster);
  const served = (count: number) => {
    const before = web.requests().length;
    return until(`${count} requests`, () => web.requests().length >= before + count);
  };
  return { web, scratch, config, served };
}

/** Asserts the politeness rules, which hold even if agents fail. */
export function assertPolite({ web }: Crawl): Judgement {
  const judgement = judge(web.web, web.requests(), { delayMs });
  const { forbidden, unknown, beforeRobots, concurrent, tooSoon } = judgement;
  const none = { count: 0, samples: [] };
  assert.deepEqual(
    { forbidden, unknown, beforeRobots, concurrent, tooSoon },
    { forbidden: none, unknown: none, beforeRobots: none, concurrent: none, tooSoon: none },
  );
  return judgement;
}

export function assertWhole(crawl: Crawl, overlapMax: number): void {
  const { missing, overlap } = assertPolite(crawl);
  assert.deepEqual(missing.samples, []);
  assert.ok(overlap.count <= overlapMax, `fetched again: ${overlap.samples.join(', ')}`);
}

export function assertCode({ code, stderr }: Ended, wanted: number): void {
  assert.equal(code, wanted, stderr);
}
