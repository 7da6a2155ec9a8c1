// Contacts whose identifiers can be read from their names, so that cases can choose the places of
// agents. The name `01+110` has two identifiers: 01 and 110, each followed by zeros. What follows
// `/` only distinguishes names.

import type { Contact, IdentifiersOf } from '../../../agent/kademlia/routing/contact.ts';
import { KEY_BITS, type Key } from '../../../assignment/identifiers.ts';

/** The key that begins with these bits, followed by zeros. */
export function keyOfBits(bits: string): Key {
  return BigInt(`0b0${bits}`) << BigInt(KEY_BITS - bits.length);
}

/** One identifier of a contact with a capacity below 1: its first. */
export const namedIdentifiers: IdentifiersOf = ({ id, capacity }) => {
  const identifiers = id.split('/')[0]!.split('+').map(keyOfBits);
  return capacity < 1 ? identifiers.slice(0, 1) : identifiers;
};

export function contactOf(id: string, address = `${id}:1`): Contact {
  return { id, address, capacity: 1 };
}

export function idsOf(contacts: readonly Contact[]): string[] {
  return contacts.map(({ id }) => id);
}
