// Pairwise covering arrays: rows with one level of each factor, such that every allowed pair of
// levels of two factors is in some row. The generator is greedy (the AETG algorithm of Cohen,
// Dalal, Fredman and Patton, 1997): each row starts with an uncovered pair and takes, factor by
// factor, the level that covers most pairs. The same seed gives the same rows.

import { draw } from '../web/draw.ts';

/** Factors in order, each with its levels. */
export type Factors = Readonly<Record<string, readonly string[]>>;
export type Row = Readonly<Record<string, string>>;
/** Two levels that must not be in one row. */
export type Excluded = Row;

/** Candidates for each row. The one that covers most pairs is taken. */
const candidatesPerRow = 20;

interface Choice {
  readonly factor: string;
  readonly level: string;
}
type Pair = readonly [Choice, Choice];

/**
 * @param excluded - pairs as rows of two factors; every level must have an allowed level of each
 *   other factor
 * @throws when no row can hold an allowed pair
 */
export function coveringArray(
  seed: number,
  factors: Factors,
  excluded: readonly Excluded[],
): Row[] {
  const uncovered = new Map(allowedPairs(factors, excluded).map((pair) => [keyOf(pair), pair]));
  const rows: Row[] = [];
  while (uncovered.size > 0) {
    let best: Row | null = null;
    let bestCount = 0;
    const pairs = [...uncovered.values()];
    for (let n = 0; n < candidatesPerRow; n++) {
      const order = draw(seed, rows.length, n);
      const row = complete(order, pairs[order % pairs.length]!, factors, excluded, uncovered);
      const count = row ? pairsOf(row).filter((pair) => uncovered.has(keyOf(pair))).length : 0;
      if (count > bestCount) [best, bestCount] = [row, count];
    }
    if (!best) throw new Error(`no row can hold ${pairs.map(keyOf).join(', ')}`);
    for (const pair of pairsOf(best)) uncovered.delete(keyOf(pair));
    rows.push(best);
  }
  return rows;
}

export function allowedPairs(factors: Factors, excluded: readonly Excluded[]): Pair[] {
  const choices = Object.entries(factors).flatMap(([factor, levels]) =>
    levels.map((level) => ({ factor, level })),
  );
  return choices.flatMap((first, k) =>
    choices
      .slice(k + 1)
      .filter((second) => second.factor !== first.factor)
      .map((second): Pair => [first, second])
      .filter((pair) => isAllowed(rowOf(pair), excluded)),
  );
}

export function isAllowed(row: Row, excluded: readonly Excluded[]): boolean {
  return !excluded.some((pair) =>
    Object.entries(pair).every(([factor, level]) => row[factor] === level),
  );
}

/** The pair completed to a row with a level for every factor; null if the exclusions allow none. */
function complete(
  order: number,
  start: Pair,
  factors: Factors,
  excluded: readonly Excluded[],
  uncovered: ReadonlyMap<string, Pair>,
): Row | null {
  let row = rowOf(start);
  const open = Object.keys(factors).filter((factor) => row[factor] === undefined);
  const shuffled = open.toSorted((a, b) => rank(order, a) - rank(order, b));
  for (const factor of shuffled) {
    const gain = (level: string) => {
      const pairs = Object.entries(row).map(([other, chosen]) =>
        keyOf([
          { factor: other, level: chosen },
          { factor, level },
        ]),
      );
      return pairs.filter((key) => uncovered.has(key)).length;
    };
    const allowed = factors[factor]!.filter((level) =>
      isAllowed({ ...row, [factor]: level }, excluded),
    )
      .map((level) => ({ level, gain: gain(level), rank: rank(order, factor, level) }))
      .toSorted((a, b) => b.gain - a.gain || a.rank - b.rank);
    if (allowed.length === 0) return null;
    row = { ...row, [factor]: allowed[0]!.level };
  }
  return Object.fromEntries(Object.keys(factors).map((factor) => [factor, row[factor]!]));
}

function pairsOf(row: Row): Pair[] {
  const choices = Object.entries(row).map(([factor, level]) => ({ factor, level }));
  return choices.flatMap((first, k) => choices.slice(k + 1).map((second): Pair => [first, second]));
}

function rowOf(pair: Pair): Row {
  return Object.fromEntries(pair.map(({ factor, level }) => [factor, level]));
}

/** The same key for both orders of the pair. */
function keyOf(pair: Pair): string {
  return pair
    .map(({ factor, level }) => `${factor}=${level}`)
    .toSorted()
    .join(' + ');
}

function rank(order: number, ...words: readonly string[]): number {
  return draw(order, ...Array.from(words.join('='), (letter) => letter.codePointAt(0)!));
}
