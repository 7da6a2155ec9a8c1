// After the end the owner of each host has all its URLs in a final state, and the backups have the
// same (PROTOCOL invariants I9 and I10). `order` returns the agents of a host, owner first, among
// those present at the end.

import { rowsOf, type StateFiles, type StateRow } from './evidence.ts';

export function unlikeCopies(
  files: StateFiles,
  order: (host: string) => readonly string[],
  backups: number,
): string[] {
  const offences: string[] = [];
  const rows = new Map([...files].map(([id, db]) => [id, rowsOf(db)]));
  const hosts = new Set([...rows.values()].flatMap((of) => [...of.values()].map((r) => r.host)));
  for (const host of hosts) {
    const [owner = '', ...followers] = order(host);
    const owned = ofHost(rows.get(owner), host);
    for (const { url, state } of owned.values()) {
      if (state === 'queued') offences.push(`still queued at its owner ${owner}: ${url}`);
    }
    for (const backup of followers.slice(0, backups)) {
      const copy = ofHost(rows.get(backup), host);
      for (const url of new Set([...owned.keys(), ...copy.keys()])) {
        const [mine, theirs] = [owned.get(url)?.state, copy.get(url)?.state];
        if (mine === theirs) continue;
        offences.push(`${url} is ${mine} at its owner ${owner}, ${theirs} at its backup ${backup}`);
      }
    }
  }
  return offences;
}

function ofHost(
  rows: ReadonlyMap<string, StateRow> | undefined,
  host: string,
): Map<string, StateRow> {
  return new Map([...(rows ?? [])].filter(([, row]) => row.host === host));
}
