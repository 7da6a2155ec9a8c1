// `ubiring owner`: prints the preference list of a host, computed from all the agents of the config
// and those that have joined through contacts, with the capacities of directives in the state files of
// the data directory. If agents are absent, the first one in the list that
// is present is the owner.

import { placementOf } from '../../composition/placement.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, load } from '../common/load-config.ts';
import { hostOf } from '../common/named-host.ts';
import { print, say } from '../common/output.ts';
import { directedMembers } from '../state-files/stored-directives.ts';
import { agentsOf } from './known-agents.ts';

/** Prints one JSON line for each host, in the order of the arguments. */
export async function owner(
  file: string,
  texts: readonly string[],
  flags: CommonFlags,
): Promise<ExitCode> {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const placement = placementOf(config.cluster, directedMembers(config, await agentsOf(config)));
  const lines: string[] = [];
  for (const text of texts) {
    const host = hostOf(text);
    if (host === null) {
      say(`${JSON.stringify(text)} is neither a host nor an http or https URL`);
      return 2;
    }
    lines.push(`${JSON.stringify({ host, order: placement.order(host) })}\n`);
  }
  await print(lines.join(''));
  return 0;
}
