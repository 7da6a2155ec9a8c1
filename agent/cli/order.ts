// `ubiring pause`, `resume`, `block` and `delay`: the operator's word to the whole cluster while it
// crawls. One agent takes it, keeps it and passes it on; what each said is printed. An agent that
// was not reached obeys as soon as it hears from any other, before its next request where it joins
// anew.

import { parseDuration } from '../../config/quantity.ts';
import type { ControlVerb } from '../core/messages.ts';
import { TAKEN_BACK } from '../messaging/control-orders.ts';
import { DELAY_MS_MAX } from '../messaging/limits.ts';
import { askInTurn } from './ask.ts';
import type { ExitCode } from './exit-code.ts';
import { type CommonFlags, loadResolved } from './load.ts';
import { print, say } from './output.ts';
import { hostOf } from './owner.ts';

export type OrderFlags = CommonFlags & { readonly json?: boolean; readonly off?: boolean };

/** No new requests until `resume`; what is open comes to its end, and the crawl does not. */
export function pause(file: string, flags: OrderFlags): Promise<ExitCode> {
  return give(file, 'pause', [], flags);
}

export function resume(file: string, flags: OrderFlags): Promise<ExitCode> {
  return give(file, 'resume', [], flags);
}

/** No request to the host from now on; with `off` new URLs of it are crawled again. */
export async function block(file: string, text: string, flags: OrderFlags): Promise<ExitCode> {
  const host = knownHost(text);
  if (host === null) return 2;
  return give(file, 'block', flags.off ? [host, TAKEN_BACK] : [host], flags);
}

/** Another politeness delay for the host; with `off` the config's again. */
export async function delay(
  file: string,
  text: string,
  delayText: string | undefined,
  flags: OrderFlags,
): Promise<ExitCode> {
  const host = knownHost(text);
  if (host === null) return 2;
  if ((delayText === undefined) === (flags.off !== true)) {
    say('a delay is given in milliseconds or as in a config (2s), or taken back with --off');
    return 2;
  }
  if (delayText === undefined) return give(file, 'delay', [host, TAKEN_BACK], flags);
  const delayMs = /^\d{1,12}$/.test(delayText) ? Number(delayText) : parseDuration(delayText);
  if (delayMs === null || delayMs > DELAY_MS_MAX) {
    say(`${JSON.stringify(delayText)} is no delay: 500, 500ms, 2s, 1m, at most 24h`);
    return 2;
  }
  return give(file, 'delay', [host, String(delayMs)], flags);
}

function knownHost(text: string): string | null {
  const host = hostOf(text);
  if (host === null) say(`${JSON.stringify(text)} is neither a host nor an http or https URL`);
  return host;
}

/** Ends with 0 where every agent of the cluster obeys; those that do not run will, later. */
async function give(
  file: string,
  verb: ControlVerb,
  args: readonly string[],
  flags: OrderFlags,
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false });
  if (!loaded.ok) return loaded.code;
  const { agents } = loaded.config.cluster;
  const answer = await askInTurn(agents, verb, args);
  if (!answer.ok) {
    say(answer.failures.join('\n'));
    say(`no agent took the order: ${verb} acts on a crawl that runs`);
    return 1;
  }
  const said = answer.result as Readonly<Record<string, string>>;
  const all = { ...Object.fromEntries(agents.map(({ id }) => [id, 'unreachable'])), ...said };
  if (flags.json) await print(`${JSON.stringify(all)}\n`);
  else await print(lines(all));
  const silent = Object.keys(all).filter((id) => all[id] !== 'applied');
  if (silent.length > 0) say(`${silent.join(', ')}: will obey on hearing from another agent`);
  return Object.values(said).every((what) => what === 'applied') ? 0 : 1;
}

function lines(said: Readonly<Record<string, string>>): string {
  return Object.entries(said)
    .map(([id, what]) => `${id}: ${what}\n`)
    .join('');
}
