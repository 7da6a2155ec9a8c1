// Names of hosts that share addresses: `h7-46-0-2.shared.test` is at 127.46.0.2. Agents resolve
// them with named-hosts.ts; the tests' proxy resolves them itself.

import path from 'node:path';

const name = /^h\d+-(\d+)-(\d+)-(\d+)\.shared\.test$/;

/** Undefined if there is no such name. */
export function addressOfName(host: string): string | undefined {
  const bytes = name.exec(host)?.slice(1);
  return bytes && `127.${bytes.join('.')}`;
}

/** @param address - in 127.0.0.0/8 */
export function nameAt(number: number, address: string): string {
  return `h${number}-${address.split('.').slice(1).join('-')}.shared.test`;
}

/** Flags of Node.js for agents that must resolve the names. */
export const namesFlags = ['--import', path.resolve(import.meta.dirname, 'named-hosts.ts')];
