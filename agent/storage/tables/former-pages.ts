// The last records of pages that are queued again, or were skipped when their turn came, in the table
// `former_pages`: those of `page_records` with the round in which the page ended so and the requests
// that it took then, which its row of `urls` does not have any more. The view `pages` shows them until
// the pages end anew.

import type { FormerPage, PageRow } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';
import type { Words } from '../encoding/words.ts';
import { PageTable } from './page-table.ts';

interface Ending {
  readonly round: number | null;
  readonly attempts: number | null;
}

export class FormerPages {
  readonly #pages: PageTable;
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection, words: Words) {
    this.#pages = new PageTable(db, 'former_pages', words);
    this.#s = statements(db);
  }

  /** The record alone. */
  read(id: number): PageRow | undefined {
    return this.#pages.read(id);
  }

  /** As it travels. */
  told(id: number): FormerPage | undefined {
    const page = this.#pages.read(id);
    if (!page) return undefined;
    const { round, attempts } = this.#s.ending.get(id)!;
    return { ...page, ...(round && { round }), ...(attempts !== null && { attempts }) };
  }

  /** In place of what there was. */
  save(id: number, { round, attempts, ...page }: FormerPage): void {
    this.#pages.save(id, page);
    // Without the number of its requests it was queued by a version that did not keep the round.
    const ended = attempts === undefined ? null : (round ?? 0);
    this.#s.saveEnding.run(ended, attempts ?? null, id);
  }

  delete(id: number): void {
    this.#pages.delete(id);
  }
}

function statements(db: Connection) {
  return {
    ending: db.prepare<[number], Ending>('SELECT round, attempts FROM former_pages WHERE id = ?'),
    saveEnding: db.prepare<[number | null, number | null, number]>(
      'UPDATE former_pages SET round = ?, attempts = ? WHERE id = ?',
    ),
  };
}
