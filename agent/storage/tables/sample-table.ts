// Samples of an agent's counters, for charts of the past (view `samples`). When there are too many,
// every second one of the older half is deleted, so the past becomes coarser rather than shorter.

import type { Connection } from '../encoding/connection.ts';

interface Sample {
  readonly pages: number;
  readonly queued: number;
  readonly hosts: number;
  readonly outbox: number;
  readonly pagesPerSecond: number;
  readonly loopDelayMs: number;
  readonly rssBytes: number;
}

/** A day in the finest steps, and a month in steps of five minutes: about 0.6 MB. */
const ROWS_MAX = 10_000;

export class SampleTable {
  readonly #s: ReturnType<typeof statements>;
  #rows: number;

  constructor(db: Connection) {
    this.#s = statements(db);
    this.#rows = this.#s.count.get()!;
  }

  /** @param at - Unix milliseconds */
  save(at: number, sample: Sample): void {
    const { pages, queued, hosts, outbox, pagesPerSecond, loopDelayMs, rssBytes } = sample;
    const rounded = [pagesPerSecond, loopDelayMs].map((value) => Math.round(value * 10) / 10);
    this.#s.save.run(at, pages, queued, hosts, outbox, ...(rounded as [number, number]), rssBytes);
    if (++this.#rows <= ROWS_MAX) return;
    this.#s.thin.run(ROWS_MAX / 2);
    this.#rows = this.#s.count.get()!;
  }
}

function statements(db: Connection) {
  return {
    count: db.prepare<[], number>('SELECT count(*) FROM sample_rows').pluck(),
    save: db.prepare<[number, number, number, number, number, number, number, number]>(
      `INSERT INTO sample_rows (at, pages, queued, hosts, outbox, pages_per_second, loop_delay_ms,
         rss_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    thin: db.prepare<[number]>(
      `DELETE FROM sample_rows WHERE id IN (
         SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM sample_rows)
         WHERE place <= ? AND place % 2 = 0)`,
    ),
  };
}
