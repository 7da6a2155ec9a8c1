// The set-up shared by `visits.test.ts` and `slow/visits.test.ts`.

import { OneAgent, type Options } from '../one-agent.ts';

export const found = { status: 200 };
export const page = (n: number, host = 'a.test') => `http://${host}/${n}`;

export function agentWith(options: Partial<Options> = {}): OneAgent {
  return new OneAgent({ web: () => found, ...options });
}
