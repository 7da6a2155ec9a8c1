// The only source of randomness in the synthetic web: a hash of small integers. Each host and page
// follows from the seed, its numbers and a topic. So nothing is stored, and the same seed gives the
// same web in every process.

/** One number for each drawn property, so that no two are correlated. */
export const topic = {
  size: 1,
  kind: 2,
  address: 3,
  hop: 4,
  door: 5,
  hostHop: 6,
  noindex: 7,
  nofollow: 8,
  links: 9,
  crossHost: 10,
  crossPage: 11,
  robots: 12,
  robotsText: 13,
  charset: 14,
  declaration: 15,
  base: 16,
  spelling: 17,
  element: 18,
  bodySize: 19,
  words: 20,
  redirectStatus: 21,
} as const;

/** An integer in [0, 2^32) that depends on every one of `words` and on their order. */
export function draw(...words: readonly number[]): number {
  let state = 0x165667b1;
  for (const word of words) {
    state = Math.imul(state ^ word, 0x9e3779b1);
    state = ((state << 15) | (state >>> 17)) >>> 0;
    state = Math.imul(state, 0xc2b2ae3d) + words.length;
  }
  state = Math.imul(state ^ (state >>> 15), 0x85ebca77);
  state = Math.imul(state ^ (state >>> 13), 0x27d4eb2f);
  return (state ^ (state >>> 16)) >>> 0;
}

/** A number in [0, 1), for comparison with a share. */
export function drawShare(...words: readonly number[]): number {
  return draw(...words) / 2 ** 32;
}

/** One of `choices`, with equal probability. */
export function drawOne<T>(choices: readonly [T, ...T[]], ...words: readonly number[]): T {
  return choices[draw(...words) % choices.length] ?? choices[0];
}
