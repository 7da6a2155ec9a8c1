// The set-up shared by `cli-launch.test.ts` and `slow/cli-launch.test.ts`.

import type { TestContext } from 'node:test';
import { startWeb } from '../web/server.ts';
import { Scratch, until } from './cli-process.ts';

/** Second byte of the loopback addresses; the web of no other test uses it. */
export const net = 41;
/** Enough work for a test to interfere: some seconds on the busiest host. */
export const size = {
  hosts: 10,
  pages: 12,
  port: 0,
  net,
  sparse: true,
  shares: { flaky: 0, slow: 0 },
};
/** For tests that send several commands to a running cluster, which must not finish meanwhile. */
export const slowly = { politeness: { hostDelayMs: 1500 } };

/** Makes a web and a directory for one test. */
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
