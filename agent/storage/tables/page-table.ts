// The records of finished pages by the ids of their URLs: in `page_records`, or in `former_pages`,
// which keeps previous records until the pages end again.

import type { PageRow } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';
import type { InternedStrings } from '../encoding/interned-strings.ts';
import {
  PAGE_COLUMNS,
  PAGE_SELECT,
  PAGE_VALUES,
  type PlainPage,
  pageOf,
  type Stored,
  storedPage,
} from '../encoding/page-columns.ts';

export class PageTable {
  readonly #strings: InternedStrings;
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection, table: 'page_records' | 'former_pages', strings: InternedStrings) {
    this.#strings = strings;
    this.#s = statements(db, table);
  }

  read(id: number): PageRow | undefined {
    const plain = this.#s.read.get(id);
    return plain && pageOf(plain);
  }

  /** Replaces an older record. */
  save(id: number, page: PageRow): void {
    this.#s.save.run(id, ...storedPage(page, (text) => this.#strings.stored(text)));
  }

  delete(id: number): void {
    this.#s.delete.run(id);
  }
}

function statements(db: Connection, table: string) {
  return {
    read: db.prepare<[number], PlainPage>(`SELECT ${PAGE_SELECT} FROM ${table} WHERE id = ?`),
    save: db.prepare<Stored[]>(
      `INSERT OR REPLACE INTO ${table} (id, ${PAGE_COLUMNS}) VALUES (?, ${PAGE_VALUES})`,
    ),
    delete: db.prepare<[number]>(`DELETE FROM ${table} WHERE id = ?`),
  };
}
