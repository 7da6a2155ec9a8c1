// The delays of the config, by host pattern, for the views: readers of a state file have no config.

import type { Connection } from '../encoding/connection.ts';

export interface ConfigDelays {
  /** Of all other hosts. */
  readonly hostDelayMs: number;
  /** By host pattern, as in `politeness.hosts`. */
  readonly hosts?: Readonly<Record<string, { readonly hostDelayMs: number }>>;
}

/** Replaces those of the last start. */
export function saveConfigDelays(db: Connection, { hostDelayMs, hosts = {} }: ConfigDelays): void {
  const save = db.transaction(() => {
    db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('delay_ms', ?)").run(hostDelayMs);
    db.prepare('DELETE FROM config_delays').run();
    const insert = db.prepare('INSERT INTO config_delays (host, value) VALUES (?, ?)');
    for (const [host, entry] of Object.entries(hosts)) insert.run(host, entry.hostDelayMs);
  });
  save();
}
