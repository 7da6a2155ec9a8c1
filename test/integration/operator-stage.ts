// What the tests in `operator.test.ts` and in `slow/operator.test.ts` are run on.

import type { TestContext } from 'node:test';
import { startWeb } from '../web/server.ts';
import { Scratch, start, until, untilJoined } from './cli-process.ts';
import { startGate } from './gate-server.ts';

export const ids = ['a1', 'a2', 'a3'];
export const size = { hosts: 8, pages: 20, port: 0, answerMs: 5 };

/**
 * A crawl that cannot end before the gate opens.
 *
 * @param hosts - delays of single hosts, as in a config
 */
export async function crawlOf(t: TestContext, second: number, agents = ids, hosts: object = {}) {
  const gate = await startGate();
  const web = await startWeb({ ...size, shares: { flaky: 0, slow: 0 }, net: second });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await gate.stop();
    await web.stop();
  });
  const config = await scratch.config(ids.length, {
    seeds: [web.seed, gate.seed],
    politeness: { hostDelayMs: 120, hosts },
  });
  const launch = start(['launch', config, '--agents', agents.join(',')]);
  const served = (count: number) => {
    const before = web.requests().length;
    return until(`${count} requests`, () => web.requests().length >= before + count);
  };
  await served(20);
  await untilJoined(config, ...agents);
  return { web, gate, scratch, config, launch, served };
}

export function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
