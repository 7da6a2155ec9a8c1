// "Did you mean": the known key nearest to a mistyped one, by edit distance with swapped neighbours
// as one edit. Used for unknown keys only; a wrong suggestion is worse than none, so the distance
// allowed grows with the length.

/** What the rest of a word costs where only its beginning was written: behind any single slip. */
const BEGINNING = 1.5;

/** @returns the nearest of `known`, or null where none is near. */
export function nearest(word: string, known: readonly string[]): string | null {
  // A long key was never meant to be a short one, and the distance costs length times length.
  if (word.length > 64) return null;
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    const near = isBeginning(word, candidate) ? Math.min(distance, BEGINNING) : distance;
    if (near < bestDistance) [best, bestDistance] = [candidate, near];
  }
  return bestDistance <= Math.max(BEGINNING, Math.floor(word.length / 3)) ? best : null;
}

/** `hostDelay` for `hostDelayMs`, `depth` for `depthPerHost`: the commonest slip of all. */
function isBeginning(word: string, candidate: string): boolean {
  return word.length > 2 && candidate.toLowerCase().startsWith(word.toLowerCase());
}

/** Optimal string alignment: insert, delete, replace, swap neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, beforeLast[j - 2]! + 1);
      }
      row.push(least);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length]!;
}
