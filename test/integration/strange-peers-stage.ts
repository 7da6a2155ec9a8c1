// What the tests in `strange-peers.test.ts` and in `slow/strange-peers.test.ts` are run on.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { holds, judge } from '../web/judge.ts';
import { type RunningWeb, startWeb } from '../web/server.ts';
import { Scratch } from './cli-process.ts';
import { type Gate, startGate } from './gate-server.ts';

export const size = { hosts: 8, pages: 14, port: 0, shares: { flaky: 0, slow: 0 } };
export const delayMs = 40;

/** A web of its own for each test, so that its log holds one crawl. */
export async function webOf(t: TestContext, second: number): Promise<RunningWeb> {
  const web = await startWeb({ ...size, net: second });
  t.after(() => web.stop());
  return web;
}

export async function gateOf(t: TestContext): Promise<Gate> {
  const gate = await startGate();
  t.after(() => gate.stop());
  return gate;
}

export function scratchOf(t: TestContext): Scratch {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  return scratch;
}

export function assertUnharmed(web: RunningWeb): void {
  const judgement = judge(web.web, web.requests(), { delayMs });
  assert.ok(holds(judgement), JSON.stringify(judgement, null, 1));
}
