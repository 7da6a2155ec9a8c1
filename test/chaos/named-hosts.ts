// Loaded into an agent with `--import`, before it starts: names such as `h7-2.shared.test` have the
// address 127.46.0.2, as the DNS would say if it knew them. So many hosts can share few addresses
// without a name server. Used by `budgets.test.ts`.

import dns from 'node:dns/promises';

const NAME = /^h\d+-(\d+)\.shared\.test$/;

const { prototype } = dns.Resolver;
prototype.resolve4 = ((name: string) => {
  const [, last] = NAME.exec(name) ?? [];
  if (last) return Promise.resolve([{ address: `127.46.0.${last}`, ttl: 1 }]);
  return Promise.reject(Object.assign(new Error(`${name} is not known`), { code: 'ENOTFOUND' }));
}) as typeof prototype.resolve4;
prototype.resolve6 = ((name: string) => {
  const code = NAME.test(name) ? 'ENODATA' : 'ENOTFOUND';
  return Promise.reject(Object.assign(new Error(name), { code }));
}) as typeof prototype.resolve6;
