// Addresses of other agents in an agent's file, as one JSON text, because they are replaced
// together. Through them a later process finds the cluster (docs/OVERLAY.md). They are only hints: a
// text that is not such a list counts as none, and what the config does not allow as an address is
// left out, because other agents name theirs and the file may have been edited.

import { isWildcard, parseEndpoint } from '../../../config/values/agent-endpoint.ts';
import type { Connection } from '../encoding/connection.ts';

export class KeptAddresses {
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection) {
    this.#s = statements(db);
  }

  read(): string[] {
    return addressesIn(this.#s.read.get());
  }

  save(addresses: readonly string[]): void {
    this.#s.save.run(JSON.stringify(addresses.filter(isAddress)));
  }
}

/** @param value - as it is in the file */
export function addressesIn(value: unknown): string[] {
  try {
    const list: unknown = JSON.parse(String(value));
    return Array.isArray(list) ? list.filter(isAddress) : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function isAddress(value: unknown): value is string {
  const endpoint = typeof value === 'string' ? parseEndpoint(value) : null;
  return endpoint !== null && !isWildcard(endpoint);
}

function statements(db: Connection) {
  return {
    read: db.prepare<[], unknown>(`SELECT value FROM meta WHERE key = 'addresses'`).pluck(),
    save: db.prepare<[string]>(`INSERT OR REPLACE INTO meta (key, value) VALUES ('addresses', ?)`),
  };
}
