// Texts that many page records have in common, as their types and archive files are: stored once,
// with a number that the records have in their place. So few are numbered that all of them are kept
// in memory; what comes beyond stands in its record as it is, which readers cannot tell apart.

import type { Connection } from './connection.ts';

/** A crawl has some dozens; a server that invents a type for each page shall not fill the memory. */
const WORDS_MAX = 4096;
const WORD_CHARS_MAX = 200;

/** SQL: the text of a column that has a number or the text itself. */
export const wordOf = (column: string): string =>
  `CASE typeof(${column}) WHEN 'integer' THEN (SELECT word FROM words WHERE number = ${column})
    ELSE ${column} END`;

export class Words {
  /** As SQLite stores whole numbers in a column without a type. */
  readonly #numbers = new Map<string, bigint>();
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection) {
    this.#s = statements(db);
    for (const { number, word } of this.#s.all.all()) this.#numbers.set(word, BigInt(number));
  }

  /** What a record has in place of the text. In a transaction. */
  stored(text: string): bigint | string {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    if (this.#numbers.size >= WORDS_MAX || text.length > WORD_CHARS_MAX) return text;
    const number = BigInt(this.#numbers.size + 1);
    this.#s.insert.run(number, text);
    this.#numbers.set(text, number);
    return number;
  }
}

function statements(db: Connection) {
  return {
    all: db.prepare<[], { number: number; word: string }>('SELECT number, word FROM words'),
    insert: db.prepare<[bigint, string]>('INSERT INTO words (number, word) VALUES (?, ?)'),
  };
}
