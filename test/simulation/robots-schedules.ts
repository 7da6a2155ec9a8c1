// Schedules for hosts whose robots.txt redirects to another host (adr/0034): they show why the
// rules for remote robots look-ups exist. As in `schedules.ts`, each returns the violations at the
// end; there are none while the rule is in force.

import { BOUNDS } from '../../agent/core/protocol/bounds.ts';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { missing } from '../checkers/coverage.ts';
import { Cluster } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { disobeyed, FORBIDDEN } from './robots-web.ts';

const IDS: readonly AgentId[] = ['a1', 'a2', 'a3'];
const PAGES = 4;

const page = (host: string, p: number) => `http://${host}/p${p}`;

/** One host for each agent. The backup of each is the next agent. */
function hosts(): string[] {
  const c = new Cluster({ ids: IDS, web: new Map(), seeds: [] });
  const names = Array.from({ length: 200 }, (_, i) => `h${i}.test`);
  return IDS.map((id, i) => {
    const successor = IDS[(i + 1) % IDS.length];
    const is = ([first, second]: readonly AgentId[]) => first === id && second === successor;
    return names.find((name) => is(c.order(name, IDS)))!;
  });
}

/** A web with a chain of pages on each of these hosts. All pages are seeds. */
function clusterOf(names: readonly string[], more: Partial<ClusterOptions>): Cluster {
  const web = new Map<string, string[]>();
  for (const host of names) {
    for (let p = 0; p < PAGES; p++)
      web.set(page(host, p), p + 1 < PAGES ? [page(host, p + 1)] : []);
  }
  const seeds = names.map((host) => page(host, 0));
  const c = new Cluster({ ids: IDS, web, seeds, ...more });
  c.startAll();
  return c;
}

function endOf(c: Cluster, ms: number): string[] {
  try {
    c.runToEnd(ms);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/**
 * The robots.txt files of three hosts, owned by three agents, redirect in a circle: there are no
 * rules.
 */
export function robotsInACircle(): string[] {
  const [a, b, d] = hosts() as [string, string, string];
  const leads = new Map([
    [a, b],
    [b, d],
    [d, a],
  ]);
  const c = clusterOf([a, b, d], { leads });
  const late = endOf(c, 30_000);
  const all = [...c.web.keys(), ...leads.keys().map((host) => `http://${host}/${FORBIDDEN}`)];
  return [...late, ...missing(c.log, all), ...c.impolite()];
}

/** The first request and the first answer are lost. */
export function robotsAskLost(): string[] {
  const [a, b] = hosts() as [string, string];
  const leads = new Map([[a, b]]);
  const c = clusterOf([a, b], { leads });
  const seen = new Set<string>();
  c.lose = (_, __, { type }) => {
    const isFirst = type === 'ROBOTS_ASK' && !seen.has(type);
    seen.add(type);
    return isFirst;
  };
  const late = endOf(c, 30_000);
  return [...late, ...missing(c.log, c.web.keys()), ...disobeyed(c.log, leads)];
}

/** For a long time no answer arrives. This counts as one attempt, and the next one follows. */
export function robotsNeverTold(): string[] {
  const [a, b] = hosts() as [string, string];
  const leads = new Map([[a, b]]);
  const settings = () => ({ bounds: { ...BOUNDS, robotsWaitMs: 2000 } });
  const c = clusterOf([a, b], { leads, settings });
  c.lose = (_, __, { type }) => type === 'ROBOTS_TOLD';
  c.run(20_000);
  const attempts = c.log.filter(({ url }) => url === `http://${a}/robots.txt`);
  c.lose = () => false;
  const late = endOf(c, 400_000);
  const once = attempts.length > 1 ? [] : [`${a} waits for ever`];
  return [...once, ...late, ...missing(c.log, c.web.keys()), ...disobeyed(c.log, leads)];
}

/** The owner of the file dies after the request, and its successor requests the file itself. */
export function robotsOwnerDies(): string[] {
  const [a, b] = hosts() as [string, string];
  const leads = new Map([[a, b]]);
  const c = clusterOf([a], { leads });
  c.runUntil('a2 is asked', () => c.sent.some(({ message }) => message.type === 'ROBOTS_ASK'));
  c.kill('a2');
  const late = endOf(c, 30_000);
  const fetched = c.log.some(({ host }) => host === b) ? [] : ['no agent requested the other host'];
  return [...late, ...fetched, ...missing(c.log, c.web.keys()), ...disobeyed(c.log, leads)];
}
