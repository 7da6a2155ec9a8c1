// A config as `config print` shows it: every key with the value in effect, as YAML that loads to the
// same config from any directory, but for a password, which is masked. Values that are derived, and so may not be written, are comments.

import { stringify } from 'yaml';
import { type Config, leaseMsOf } from './config.ts';

/** The config as it may be shown to anyone who looks: the proxy's password is masked. */
export function shownConfig<C extends Config>(config: C): C {
  const { proxy } = config.http;
  const url = proxy === null ? null : URL.parse(proxy);
  if (!url?.password) return config;
  url.password = '***';
  return { ...config, http: { ...config.http, proxy: url.href } };
}

/** @returns YAML with every key, paths absolute, durations in ms and sizes in bytes. */
export function printConfig(whole: Config): string {
  const config = shownConfig(whole);
  const { file, seeds, inlineSeeds, ...rest } = config;
  const { agents } = config.cluster;
  const derived = [
    `# in effect from ${JSON.stringify(file)}, with ${seeds.length} seeds`,
    `# lease of the fetch right: ${leaseMsOf(config)} ms`,
  ];
  const values = {
    ...rest,
    seeds: inlineSeeds,
    cluster: {
      ...config.cluster,
      agents: typeof agents === 'number' ? agents : agents.map((entry) => ({ ...entry })),
    },
  };
  const { name, seeds: first, seedFiles, ...others } = values;
  // Wrapped lines would break user agents and expressions over two lines, for no reader's good.
  const yaml = stringify(
    { name, seeds: first, seedFiles, ...others },
    { lineWidth: 0, aliasDuplicateObjects: false },
  );
  return `${derived.join('\n')}\n${yaml}`;
}
