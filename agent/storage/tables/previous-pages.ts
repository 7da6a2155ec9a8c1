// The previous records of pages that are requeued, or were skipped after they were requeued, in the
// table `former_pages`. A record has the columns of `page_records`, plus the round and the attempts
// in which the page ended, which its row in `urls` no longer has. The view `pages` shows these
// records until the pages end again.

import type { PreviousPage } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';
import type { InternedStrings } from '../encoding/interned-strings.ts';
import { PageTable } from './page-table.ts';

export class PreviousPages {
  readonly #pages: PageTable;
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection, strings: InternedStrings) {
    this.#pages = new PageTable(db, 'former_pages', strings);
    this.#s = statements(db);
  }

  /** The record with its round and attempts, as it is sent to copies. */
  told(id: number): PreviousPage | undefined {
    const page = this.#pages.read(id);
    if (!page) return undefined;
    const { round, attempts } = this.#s.ending.get(id)!;
    return { ...page, ...(round && { round }), ...(attempts !== null && { attempts }) };
  }

  /** Replaces an older record. */
  save(id: number, { round, attempts, ...page }: PreviousPage): void {
    this.#pages.save(id, page);
    // A record without attempts comes from a version that did not keep the round.
    const ended = attempts === undefined ? null : (round ?? 0);
    this.#s.saveEnding.run(ended, attempts ?? null, id);
  }

  delete(id: number): void {
    this.#pages.delete(id);
  }
}

function statements(db: Connection) {
  return {
    ending: db.prepare<[number], { round: number | null; attempts: number | null }>(
      'SELECT round, attempts FROM former_pages WHERE id = ?',
    ),
    saveEnding: db.prepare<[number | null, number | null, number]>(
      'UPDATE former_pages SET round = ?, attempts = ? WHERE id = ?',
    ),
  };
}
