// Chance, in the one place that may ask for it: names that nobody else will ever give,
// and waits that nobody else waits. Tests pass
// their own source instead.

import { randomInt, randomUUID } from 'node:crypto';

/** A UUID of version 4, as text: 122 random bits. */
export function randomId(): string {
  return randomUUID();
}

/** A whole number below 2^48 that nobody outside this process knows. */
export function secret(): number {
  return randomInt(2 ** 48 - 1);
}

/** A number from 0 up to 1. */
export function chance(): number {
  return Math.random();
}
