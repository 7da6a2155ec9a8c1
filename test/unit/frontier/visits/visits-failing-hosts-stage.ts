// The set-up shared by `visits-failing-hosts.test.ts` and `slow/visits-failing-hosts.test.ts`.

import { type Answer, OneAgent, type Options } from '../one-agent.ts';

export const page = (n: number | string) => `http://a.test/${n}`;
export const found = { status: 200 };
export const MINUTE_MS = 60_000;

export const slow = (answer: Answer): Answer => ({ ...answer, tookMs: 10_000 });

/** Deterministic pseudo-random numbers from 0 up to 1. */
export function drawn(): () => number {
  let n = 0;
  return () => {
    n = (n * 16807 + 12345) % 2147483647;
    return n / 2147483647;
  };
}

export function agentOf(
  web: Options['web'],
  count: number,
  options: Partial<Options> = {},
): OneAgent {
  const agent = new OneAgent({ web, chance: drawn(), ...options });
  for (let n = 0; n < count; n++) agent.find(page(n));
  return agent;
}

export function countOf(agent: OneAgent, outcome: number | string): number {
  return Object.values(agent.pages()).filter((is) => is === outcome).length;
}
