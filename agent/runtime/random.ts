// The source of randomness; no other file has one. Tests replace it.

import { randomInt, randomUUID } from 'node:crypto';

/** @returns a version 4 UUID: 122 random bits */
export function randomId(): string {
  return randomUUID();
}

/** @returns an integer from 0 to 2^48 - 2 that other processes cannot guess */
export function secret(): number {
  return randomInt(2 ** 48 - 1);
}

/** @returns a number from 0 (inclusive) to 1 (exclusive) */
export function chance(): number {
  return Math.random();
}
