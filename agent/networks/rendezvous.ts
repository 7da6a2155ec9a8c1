// Rendezvous hashing of networks (Thaler and Ravishankar 1998): each network has a score for a key,
// and the highest score wins. All networks compute the same winner from the names alone, and a
// network that is added or removed changes only the keys that it wins.

import type { Sha256 } from './digests.ts';

/** The networks by their rank for a key, highest first. */
export function ranked(networks: readonly string[], key: string, sha256: Sha256): string[] {
  const scores = new Map(
    networks.map((name) => [
      name,
      Buffer.from(sha256(`${name}\n${key}`), 'base64url').toString('hex'),
    ]),
  );
  return [...networks].sort((a, b) => (scores.get(a)! > scores.get(b)! ? -1 : 1));
}

/** The network whose Redis has the leases of a host. */
export function homeOf(networks: readonly string[], host: string, sha256: Sha256): string {
  return ranked(networks, host, sha256)[0]!;
}

/** Whether `one` keeps the URL if both networks ask for it at once. */
export function ranksAbove(one: string, other: string, digest: string, sha256: Sha256): boolean {
  return ranked([one, other], digest, sha256)[0] === one;
}
