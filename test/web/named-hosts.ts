// Loaded into an agent with `--import` before it starts: resolves the names of shared-names.ts to
// the addresses that they contain, in place of the DNS.

import dns from 'node:dns/promises';
import { addressOfName } from './shared-names.ts';

const { prototype } = dns.Resolver;
prototype.resolve4 = ((host: string) => {
  const address = addressOfName(host);
  if (address) return Promise.resolve([{ address, ttl: 1 }]);
  return Promise.reject(Object.assign(new Error(`${host} is not known`), { code: 'ENOTFOUND' }));
}) as typeof prototype.resolve4;
prototype.resolve6 = ((host: string) => {
  const code = addressOfName(host) ? 'ENODATA' : 'ENOTFOUND';
  return Promise.reject(Object.assign(new Error(host), { code }));
}) as typeof prototype.resolve6;
