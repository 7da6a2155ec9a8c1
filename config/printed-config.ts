// Prints a config as YAML with the value of every key. The YAML loads to the same config from any
// directory, except that the proxy's password is masked. Derived values, which a file may not
// contain, are comments.

import { stringify } from 'yaml';
import { type Config, leaseMsOf } from './config.ts';

/** The config with the proxy's password masked. */
export function shownConfig<C extends Config>(config: C): C {
  const { proxy } = config.http;
  const url = proxy === null ? null : URL.parse(proxy);
  if (!url?.password) return config;
  url.password = '***';
  return { ...config, http: { ...config.http, proxy: url.href } };
}

/** @returns YAML with absolute paths, durations in ms and sizes in bytes */
export function printConfig(config: Config): string {
  const { file, name, seeds, inlineSeeds, seedFiles, ...rest } = shownConfig(config);
  const seedsText = seeds.length === 1 ? 'seed' : 'seeds';
  const derived =
    `# config from ${JSON.stringify(file)}, with ${seeds.length} ${seedsText}\n` +
    `# an agent requests pages for up to ${leaseMsOf(config)} ms after news of the others\n`;
  const values = { name, seeds: inlineSeeds, seedFiles, ...rest };
  // Without wrapping, user agents and regular expressions stay on one line.
  return derived + stringify(values, { lineWidth: 0, aliasDuplicateObjects: false });
}
