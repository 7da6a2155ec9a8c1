// Requests to an address never overlap, and each starts no sooner than the delay after the end of
// the previous one, whatever their hosts and agents (`politeness.ipDelayMs`, adr/0030).

import type { SeenRequest } from './evidence.ts';
import { impolite, type Politeness } from './politeness.ts';

/** Pairs of requests to one address that overlap or are closer than the delay. */
export function crowded<R extends SeenRequest>(
  requests: readonly R[],
  addressOf: (request: R) => string,
  rules: Politeness,
): string[] {
  const byAddress = requests.map((request) => ({ ...request, host: addressOf(request) }));
  return impolite(byAddress, rules).map((offence) => offence.replace('impolite', 'crowded'));
}
