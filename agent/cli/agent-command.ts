// `ubiring agent`: one agent in this process, in the foreground. By hand it is one machine of a
// cluster, a restart or a late joiner. What the signals mean is in CONTRACT.

import { runAgent } from './agent-run.ts';
import type { ExitCode } from './exit-code.ts';
import { allKnown, type CommonFlags, loadResolved } from './load.ts';
import { Orders } from './orders.ts';

export async function agentCommand(
  file: string,
  flags: CommonFlags & { readonly id: string; readonly refresh?: number },
): Promise<ExitCode> {
  const orders = new Orders(false);
  // The ports of numbered agents are found by whoever comes first, so an agent may be that.
  const loaded = await loadResolved(file, flags, { allocate: true, warn: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const { id, refresh } = flags;
  if (!allKnown([id], config)) return 2;
  return runAgent({ config, id, refresh }, { orders, launched: false });
}
