// Finds the known keys that are most similar to a misspelled one, for "did you mean". The edit distance
// counts swapped neighbors as one edit. A wrong suggestion is worse than none, so the allowed
// distance depends on the length.

/** Distance of a key of which only the beginning was written: above one edit. */
const BEGINNING = 1.5;

/** @returns the most similar of `known`, several if they are equally similar; empty: none is */
export function nearest(word: string, known: readonly string[]): string[] {
  // No key is so long, and computing the distance takes quadratic time.
  if (word.length > 64) return [];
  const all = known.map((candidate) => {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    const near = isBeginning(word, candidate) ? Math.min(distance, BEGINNING) : distance;
    return { candidate, near };
  });
  const least = Math.min(...all.map(({ near }) => near));
  if (least > Math.max(BEGINNING, Math.floor(word.length / 3))) return [];
  return all.filter(({ near }) => near === least).map(({ candidate }) => candidate);
}

/** `hostDelay` for `hostDelayMs` or `depth` for `depthPerHost`: the most common mistake. */
function isBeginning(word: string, candidate: string): boolean {
  return word.length > 2 && candidate.toLowerCase().startsWith(word.toLowerCase());
}

/** Optimal string alignment distance: insertions, deletions, replacements and swaps. */
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
