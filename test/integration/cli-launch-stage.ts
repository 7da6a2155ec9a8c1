// The set-up that `cli-launch.test.ts` and `slow/cli-launch.test.ts` share.

import type { TestContext } from 'node:test';
import { startWeb } from '../web/server.ts';
import { Scratch, until } from './cli-process.ts';

/** Second bytes of loopback addresses that no other test's web uses. */
export const net = 41;
/** Enough work for a test to step in between: some seconds on the busiest host. */
export const size = {
  hosts: 10,
  pages: 12,
  port: 0,
  net,
  sparse: true,
  shares: { flaky: 0, slow: 0 },
};
/** For tests that ask a running cluster several things: it cannot finish meanwhile. */
export const slowly = { politeness: { hostDelayMs: 1500 } };

/** A web and a directory for one test. */
export async function stage(context: TestContext) {
  const scratch = new Scratch();
  const web = await startWeb(size);
  context.after(async () => {
    scratch.clean();
    await web.stop();
  });
  return {
    web,
    scratch,
    crawl: (agents: number, more: object = {}) =>
      scratch.config(agents, { seeds: [web.seed], ...more }),
    served: (count: number) => {
      const before = web.requests().length;
      return until(`${count} requests`, () => web.requests().length >= before + count);
    },
  };
}
