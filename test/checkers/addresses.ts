// One request to an address at a time, and the next no sooner than its delay after the end of the
// last, whichever hosts they are to and whoever makes them (`politeness.ipDelayMs`, adr/0030).

import type { SeenRequest } from './evidence.ts';
import { impolite, type Politeness } from './politeness.ts';

/** Pairs of requests to one address that overlap, or follow closer than the delay. */
export function crowded<R extends SeenRequest>(
  requests: readonly R[],
  addressOf: (request: R) => string,
  rules: Politeness,
): string[] {
  const byAddress = requests.map((request) => ({ ...request, host: addressOf(request) }));
  return impolite(byAddress, rules).map((offence) => offence.replace('impolite', 'crowded'));
}
