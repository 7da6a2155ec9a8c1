// Chance, in the one place that may ask for it: names that nobody else will ever give. Tests pass
// their own source instead.

import { randomUUID } from 'node:crypto';

/** A UUID of version 4, as text: 122 random bits. */
export function randomId(): string {
  return randomUUID();
}
