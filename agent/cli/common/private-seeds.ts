// Warns of seeds to which the crawler may not connect, because their hosts are addresses or names
// of this machine or of a private network. If all seeds are such, the crawl is complete at once.

import type { Config } from '../../../config/config.ts';
import { AddressGuard } from '../../fetch/address/address-guard.ts';
import { warn } from './output.ts';

/** @returns a warning that names the config key; null if there is no such seed */
export function privateSeeds({ http, seeds, file }: Config): string | null {
  if (http.allowPrivateAddresses) return null;
  const guard = new AddressGuard({ allowPrivate: false, viaProxy: http.proxy !== null });
  const found = seeds.filter((seed) => {
    return URL.canParse(seed) && guard.checkHostLiteral(new URL(seed).hostname) !== null;
  });
  if (found.length === 0) return null;
  const first = JSON.stringify(found[0]!.slice(0, 200));
  return (
    `${file}: ${found.length} of ${seeds.length} seeds will be skipped, the first being ${first}: ` +
    'their hosts are private; set http.allowPrivateAddresses to true to crawl them'
  );
}

export function warnOfPrivateSeeds(config: Config): void {
  const warning = privateSeeds(config);
  if (warning !== null) warn(warning);
}
