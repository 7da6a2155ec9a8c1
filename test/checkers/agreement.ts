// Some time after the last fault all living agents have the same members, and no agent waits for a
// list or a host (PROTOCOL invariant I10).

export interface Standing {
  readonly id: string;
  readonly incarnation: number;
  readonly joined: boolean;
  readonly members: readonly { readonly id: string; readonly inc: number }[];
  readonly handOff: { readonly owed: number; readonly given: number };
}

export function disagreements(standings: readonly Standing[]): string[] {
  const offences: string[] = [];
  const views = new Set(standings.map(viewOf));
  if (views.size > 1) offences.push(`views differ: ${[...views].join(' | ')}`);
  return [...offences, ...waiting(standings)];
}

/** Agents that have not joined, or wait for lists. */
export function waiting(standings: readonly Standing[]): string[] {
  const offences: string[] = [];
  for (const { id, joined, handOff } of standings) {
    if (!joined) offences.push(`${id} has not joined`);
    if (handOff.owed > 0) offences.push(`${id} still waits for ${handOff.owed} lists`);
  }
  return offences;
}

function viewOf({ id, incarnation, members }: Standing): string {
  const named = [`${id}.${incarnation}`, ...members.map((m) => `${m.id}.${m.inc}`)];
  return named.sort().join(' ');
}
