// Interned strings of page records, such as content types and archive files: each is stored once,
// and the records hold its number. The number of strings is limited, so that all fit into memory;
// beyond the limit a record holds the text itself, and readers get the same result.

import type { Connection } from './connection.ts';

/** A crawl has some dozens; the limit protects memory from servers that invent content types. */
const WORDS_MAX = 4096;
/** Longer texts are not interned. */
const WORD_CHARS_MAX = 200;

/** SQL: the text of a column that holds the number of an interned string or the text itself. */
export const wordOf = (column: string): string =>
  `CASE typeof(${column}) WHEN 'integer' THEN (SELECT word FROM words WHERE number = ${column})
    ELSE ${column} END`;

export class Words {
  /** BigInt, because SQLite stores a JavaScript number in an untyped column as REAL. */
  readonly #numbers = new Map<string, bigint>();
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection) {
    this.#s = statements(db);
    for (const { number, word } of this.#s.all.all()) this.#numbers.set(word, BigInt(number));
  }

  /** The value to store for the text. Needs an open transaction, as it may insert a row. */
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
