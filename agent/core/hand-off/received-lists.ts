// Which parts of the members' lists have arrived (PROTOCOL rule 8). A member that is added again in the
// same incarnation owes a new list. A late copy of an earlier one must not count as that list, and its
// hosts were handed over before: nobody would yield them again.

import type { Member } from '../membership/view.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import { IDENTIFIERS_MAX, putLatest } from '../protocol/put-latest.ts';

type ListPart = Pick<Extract<Message, { type: 'LIST' }>, 'list' | 'part' | 'last'>;

export class ReceivedLists {
  /** By list, the next expected part; lists of members that are not watched any more are dropped. */
  readonly #parts = new Map<string, number>();
  /** The lists of which only some parts have arrived. */
  readonly #open = new Set<string>();
  /** The number of each agent's last list, also after it is dropped. Bound: `IDENTIFIERS_MAX`. */
  readonly #last = new Map<AgentId, { readonly inc: Incarnation; readonly list: number }>();

  clear(): void {
    this.#parts.clear();
    this.#open.clear();
    this.#last.clear();
  }

  has(key: string): boolean {
    return this.#parts.has(key);
  }

  /** Whether only some parts of a list of the agent have arrived. */
  isOpen(id: AgentId): boolean {
    return this.#open.values().some((key) => key.startsWith(`${id}.`));
  }

  /** The part that must follow; Infinity: the list was dropped, and each part is a late copy. */
  expected(from: Member, list: number): number {
    const parts = this.#parts.get(keyOf(from, list));
    if (parts !== undefined) return parts;
    const { id, inc } = from.card;
    const last = this.#last.get(id);
    return last?.inc === inc && list <= last.list ? Infinity : 0;
  }

  /** The expected part has arrived. A member's lists arrive in the order of their numbers. */
  take(from: Member, { list, part, last }: ListPart): void {
    const key = keyOf(from, list);
    this.#parts.set(key, part + 1);
    if (last) this.#open.delete(key);
    else this.#open.add(key);
    putLatest(this.#last, from.card.id, { inc: from.card.inc, list }, IDENTIFIERS_MAX);
  }

  /** The member is not watched any more. */
  forget(id: AgentId): void {
    for (const key of this.#parts.keys()) {
      if (!key.startsWith(`${id}.`)) continue;
      this.#parts.delete(key);
      this.#open.delete(key);
    }
  }
}

/** Names a list of a member among all lists. */
export function keyOf({ card }: Member, list: number): string {
  return `${card.id}.${card.inc}/${list}`;
}
