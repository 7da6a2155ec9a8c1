// `ubiring stop`: with identifiers, these agents leave and the others take their hosts over; without,
// all settle what they can and end, to be launched again later. The order goes to one agent, which
// passes it on; what each said is printed, since an order that did nothing must not look like one
// that worked.

import { askInTurn } from './ask.ts';
import type { ExitCode } from './exit-code.ts';
import { allKnown, asked, type CommonFlags, loadResolved } from './load.ts';
import { print, say } from './output.ts';

/** @param ids - agents that are to leave; none: all are to stop */
export async function stop(
  file: string,
  ids: readonly string[],
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  if (!allKnown(ids, loaded.config)) return 2;
  const verb = ids.length > 0 ? 'leave' : 'stop';
  const answer = await askInTurn(asked(loaded.config), verb, ids);
  if (!answer.ok) {
    say(answer.failures.join('\n'));
    say('no agent answers: there is nothing to stop, or kill is needed');
    return 1;
  }
  const said = Object.entries(answer.result as Record<string, string>);
  if (flags.json) await print(`${JSON.stringify(answer.result)}\n`);
  else await print(said.map(([id, what]) => `${id}: ${what}\n`).join(''));
  return said.every(([, what]) => what === 'applied') ? 0 : 1;
}
