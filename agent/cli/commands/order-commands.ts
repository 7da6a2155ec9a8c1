// `ubiring pause`, `resume`, `block` and `delay`: orders to the whole cluster while it crawls. One
// agent takes the order, stores it and passes it on; what each agent said is printed. An agent that
// was not reached obeys as soon as it hears from any other, and before its first request where it
// joins anew; until then the command ends with 1. Where no agent runs, the command takes an order back
// in the state files.

import { parseHostPattern } from '../../../config/values/host.ts';
import { parseDuration } from '../../../config/values/quantity.ts';
import type { ControlVerb, Order } from '../../core/protocol/messages.ts';
import { type OrderSummary, orderOf, TAKEN_BACK } from '../../messaging/control-orders.ts';
import { DELAY_MS_MAX } from '../../messaging/limits.ts';
import { askInTurn } from '../common/ask.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { hostOf } from '../common/host-order.ts';
import { startingEnded } from '../common/launch-lock.ts';
import {
  asked,
  type CommonFlags,
  launchCommand,
  loadResolved,
  type ResolvedConfig,
  reachable,
} from '../common/load-config.ts';
import { print, say } from '../common/output.ts';
import { ordersInForce, takeBack } from '../state-files/stored-orders.ts';

export type OrderFlags = CommonFlags & { readonly json?: boolean; readonly off?: boolean };

/** No new requests until `resume`; what is open comes to its end, and the crawl does not. */
export function pause(file: string, flags: OrderFlags): Promise<ExitCode> {
  return give(file, 'pause', [], flags);
}

export function resume(file: string, flags: OrderFlags): Promise<ExitCode> {
  return give(file, 'resume', [], flags);
}

/** No request to the hosts from now on; with `off` they, and what was skipped, are crawled again. */
export async function block(file: string, text: string, flags: OrderFlags): Promise<ExitCode> {
  const pattern = patternOf(text);
  if (pattern === null) return 2;
  return give(file, 'block', flags.off ? [pattern, TAKEN_BACK] : [pattern], flags);
}

/** Another politeness delay for the hosts; with `off` the config's again. */
export async function delay(
  file: string,
  text: string,
  delayText: string | undefined,
  flags: OrderFlags,
): Promise<ExitCode> {
  const pattern = patternOf(text);
  if (pattern === null) return 2;
  if ((delayText === undefined) === (flags.off !== true)) {
    say('a delay is given in milliseconds or as in a config (2s), or taken back with --off');
    return 2;
  }
  if (delayText === undefined) return give(file, 'delay', [pattern, TAKEN_BACK], flags);
  const delayMs = /^\d{1,12}$/.test(delayText) ? Number(delayText) : parseDuration(delayText);
  if (delayMs === null || delayMs > DELAY_MS_MAX) {
    say(`${JSON.stringify(delayText)} is no delay: 500, 500ms, 2s, 1m, at most 24h`);
    return 2;
  }
  return give(file, 'delay', [pattern, String(delayMs)], flags);
}

/** A pattern, or the host of a URL. */
function patternOf(text: string): string | null {
  const pattern = parseHostPattern(text) ?? (text.includes('*') ? null : hostOf(text));
  if (pattern === null) {
    const forms = 'a host, "*.host" for its subdomains, "*", or an http or https URL';
    say(`${JSON.stringify(text)} is none of these: ${forms}`);
  }
  return pattern;
}

/** Ends with 0 where every agent of the config, and every other member, has the order on disk. */
async function give(
  file: string,
  verb: ControlVerb,
  args: readonly string[],
  flags: OrderFlags,
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  const agents = reachable(loaded.config);
  await startingEnded(loaded.config.agent.dataDir);
  const answer = await askInTurn(asked(loaded.config), verb, args);
  if (!answer.ok) {
    say(answer.failures.join('\n'));
    const what = orderOf(verb, args);
    if (typeof what !== 'string' && what.value === null) {
      return giveStored(loaded.config, what, flags);
    }
    say(`no agent took the order: ${verb} acts on a crawl that runs`);
    return 1;
  }
  const summary = answer.result as OrderSummary;
  const unheard = Object.fromEntries(agents.map(({ id }) => [id, 'unreachable']));
  const all = { ...unheard, ...summary.agents };
  if (flags.json) await print(`${JSON.stringify(all)}\n`);
  else await print(lines(all));
  const silent = Object.keys(all).filter((id) => all[id] !== 'applied');
  if (silent.length > 0) say(`${silent.join(', ')}: will obey on hearing from another agent`);
  const holds = sayOfHosts(args, summary);
  return silent.length === 0 && holds ? 0 : 1;
}

/** No agent answers: it is taken back in their files, if none runs. */
async function giveStored(
  config: ResolvedConfig,
  what: Pick<Order, 'kind' | 'host'>,
  flags: OrderFlags,
): Promise<ExitCode> {
  const { agents, failure, stillBlockedBy } = takeBack(config, what);
  if (failure !== null && agents.length === 0) {
    say(`no agent took the order: ${failure.message}`);
    return failure.code;
  }
  const ids = config.cluster.agents.map(({ id }) => id);
  const said = ids.map((id) => [id, agents.includes(id) ? 'applied' : 'unreachable']);
  const all: Record<string, string> = Object.fromEntries(said);
  await print(flags.json ? `${JSON.stringify(all)}\n` : lines(all));
  if (failure !== null) say(failure.message);
  say('no agent of this data directory runs: it is taken back in their files; to go on:');
  say(`  ${launchCommand(config)}`);
  for (const line of ordersInForce(config)) say(line);
  if (stillBlockedBy !== undefined) say(stillBlockedText(what.host, stillBlockedBy));
  if (failure !== null) return failure.code;
  return ids.every((id) => agents.includes(id)) && stillBlockedBy === undefined ? 0 : 1;
}

/** What the order comes to, where that is not what was meant; false: it changes nothing. */
function sayOfHosts(
  [pattern, value]: readonly string[],
  { hosts, stillBlockedBy }: OrderSummary,
): boolean {
  if (pattern === undefined) return true;
  if (stillBlockedBy !== undefined) {
    say(stillBlockedText(pattern, stillBlockedBy));
    return false;
  }
  if (hosts > 0) return true;
  const later = value === TAKEN_BACK ? '' : '; the order holds for hosts that are found later';
  say(`no agent that answered knows a host ${pattern}${later}`);
  return true;
}

function stillBlockedText(pattern: string, by: string): string {
  return `${pattern} is still blocked, by ${by}: take that back`;
}

function lines(said: Readonly<Record<string, string>>): string {
  return Object.entries(said)
    .map(([id, what]) => `${id}: ${what}\n`)
    .join('');
}
