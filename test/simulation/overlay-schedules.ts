// Schedules that show why a rule of the Kademlia overlay exists, as `schedules.ts` shows those of the
// protocol. The names of the agents are chosen by the halves of the key space in which they are.

import { createHash } from 'node:crypto';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { bitAt, type Key, keyOf } from '../../assignment/identifiers.ts';
import { late, missing } from '../checkers/coverage.ts';
import { Cluster, SUSPECT_MS } from './cluster.ts';
import { keysOf } from './kademlia-plan.ts';
import type { OverlayRule } from './mutations.ts';
import { give, PAUSE } from './orders-stage.ts';
import type { Random } from './random.ts';
import { denseWeb } from './webs.ts';

const SIZES = { ids: 1, neighbourhood: 4, bucketSize: 20 };
const NAMES = Array.from({ length: 40 }, (_, n) => `a${n}`);
const sha1 = (text: string) => createHash('sha1').update(text).digest();

/** Agents whose identifiers begin with these bits. */
function agentsIn(bits: string, count: number): AgentId[] {
  const keys = keysOf(SIZES);
  return NAMES.filter((id) => beginsWith(keys(id)[0]!, bits)).slice(0, count);
}

function beginsWith(key: Key, bits: string): boolean {
  return [...bits].every((bit, i) => bitAt(key, i) === Number(bit));
}

/** A host whose key begins with these bits. */
function hostIn(bits: string): string {
  const hosts = Array.from({ length: 40 }, (_, n) => `h${n}.test`);
  return hosts.find((host) => beginsWith(keyOf(host, sha1), bits))!;
}

/**
 * All agents of a half crash at once, so no member knows that nobody is there any more. They were
 * contacts, too many to ask them one after the other.
 */
const halfCrashes = () => unownedAfterCrash(agentsIn('0', 8), agentsIn('1', 16));

/**
 * All agents of a quarter crash at once. The agents of the other half have contacts there, which
 * they name to those that have lost them.
 */
const quarterCrashes = () =>
  unownedAfterCrash([...agentsIn('1', 5), ...agentsIn('00', 5)], agentsIn('01', 8));

function unownedAfterCrash(left: readonly AgentId[], lost: readonly AgentId[]): string[] {
  const ids = [...left, ...lost];
  const kademlia = { ...SIZES, contacts: left.slice(0, 2) };
  const web = denseWeb(16, 60);
  const delayMs = 2 * SUSPECT_MS;
  const c = new Cluster({ ids, web, seeds: ['http://h0.test/p0'], kademlia, delayMs });
  c.startAll();
  c.run(5 * SUSPECT_MS);
  for (const id of lost) c.kill(id);
  // Later, other look-ups would find the owners even without pings.
  c.run(6 * SUSPECT_MS);
  const hosts = [...new Set([...c.web.keys()].map((url) => new URL(url).host))];
  const isOwned = (host: string) => {
    const [owner] = c.order(host, left);
    return c.agents.get(owner!)!.core.ownerOf(host) === owner;
  };
  return hosts.filter((host) => !isOwned(host)).map((host) => `nobody owns ${host}`);
}

/** Only one agent has work at a time, now in one half of the key space and then in the other. */
function workMoves(): string[] {
  const sides = ['01', '1'].map(hostIn);
  const url = (page: number) => `http://${sides[page % 2]}/p${page}`;
  const web = new Map(Array.from({ length: 300 }, (_, page) => [url(page), [url(page + 1)]]));
  web.set(url(299), []);
  const ids = ['00', '01', '1'].flatMap((bits) => agentsIn(bits, 5));
  const kademlia = { ...SIZES, contacts: ids.slice(0, 2) };
  const requestMs = (random: Random) => random.between(10, 300);
  const c = new Cluster({ ids, web, seeds: [url(0)], kademlia, requestMs, keepSent: false });
  c.startAll();
  c.runToEnd(200 * SUSPECT_MS);
  const firstEnd = Math.min(...[...c.agents.values()].map(({ end }) => end!.at));
  return [...missing(c.log, web.keys()), ...late(c.log, firstEnd)];
}

/**
 * The agents nearest to key 0 start when a crawl with a page limit is running. One of them grants the
 * tokens from then on, so it counts the pages, while hosts wait to be handed over.
 */
function hostsMoveInCensus(): string[] {
  const keys = keysOf(SIZES);
  const ids = NAMES.slice(0, 16).sort((a, b) => (keys(a)[0]! < keys(b)[0]! ? -1 : 1));
  const [late, present] = [ids.slice(0, 6), ids.slice(6)];
  const kademlia = { ...SIZES, contacts: present.slice(0, 2) };
  const web = denseWeb(24, 20);
  const seeds = [...web.keys()].slice(0, 24);
  const pagesMax = 200;
  const c = new Cluster({ ids, web, seeds, kademlia, pagesMax, backups: 1 });
  for (const id of present) c.start(id);
  c.runUntil('the crawl is running', () => c.fetched().size > 60, 60 * SUSPECT_MS);
  c.lose = (_, __, { type }) => type === 'YIELD';
  for (const id of late) c.start(id);
  c.run(8 * SUSPECT_MS);
  c.lose = () => false;
  c.runToEnd(200 * SUSPECT_MS);
  const { size } = c.fetched();
  return size === pagesMax ? [] : [`${size} pages were fetched, the limit is ${pagesMax}`];
}

/** An agent of one half of the key space gets a directive. No view has agents of both halves. */
function directiveGiven(): string[] {
  const ids = ['0', '1'].flatMap((bits) => agentsIn(bits, 5));
  const kademlia = { ...SIZES, contacts: ids.slice(0, 2) };
  const web = denseWeb(8, 60);
  const delayMs = 5 * SUSPECT_MS;
  const c = new Cluster({ ids, web, seeds: ['http://h0.test/p0'], kademlia, delayMs });
  c.startAll();
  c.run(5 * SUSPECT_MS);
  give(c, ids[0]!, PAUSE);
  c.run(10 * SUSPECT_MS);
  return ids.filter((id) => !c.snapshot(id).paused).map((id) => `${id} is not paused`);
}

/** An agent that is no contact starts while it reaches nobody, and later meets the others. */
function strangerBegins(): string[] {
  const ids = NAMES.slice(0, 9);
  const [stranger, ...others] = ids;
  const kademlia = { ...SIZES, contacts: others.slice(0, 2) };
  const web = denseWeb(8, 60);
  const c = new Cluster({ ids, web, seeds: [...web.keys()].slice(0, 8), kademlia });
  for (const id of others) {
    c.network.cut(stranger!, id);
    c.network.cut(id, stranger!);
  }
  c.startAll();
  c.run(5 * SUSPECT_MS);
  c.network.heal();
  c.runToEnd(200 * SUSPECT_MS);
  return [...c.impolite(), ...missing(c.log, c.web.keys())];
}

/** A contact starts for the first time after the contact through which the others joined has crashed. */
function contactStartsLate(): string[] {
  const ids = NAMES.slice(0, 9);
  const [first, late] = ids;
  const kademlia = { ...SIZES, contacts: [first!, late!, 'absent'] };
  const web = denseWeb(8, 60);
  const c = new Cluster({ ids, web, seeds: [...web.keys()].slice(0, 8), kademlia, delayMs: 200 });
  for (const id of ids) if (id !== late) c.start(id);
  c.run(2 * SUSPECT_MS);
  c.kill(first!);
  c.run(2 * SUSPECT_MS);
  c.start(late!);
  c.runToEnd(200 * SUSPECT_MS);
  return [...c.impolite(), ...missing(c.log, c.web.keys())];
}

/** The owners of two hosts in both halves leave, and each has URLs for the host of the other. */
function ownersLeave(): string[] {
  const ids = ['0', '1'].flatMap((bits) => agentsIn(bits, 8));
  const kademlia = { ...SIZES, contacts: ids.slice(0, 2) };
  const web = denseWeb(8, 60);
  const c = new Cluster({ ids, web, seeds: ['http://h0.test/p0'], kademlia, delayMs: 200 });
  const hosts = [...new Set([...web.keys()].map((url) => new URL(url).host))];
  const leavers = ['0', '1'].map((bits) => {
    const host = hosts.find((each) => beginsWith(keyOf(each, sha1), bits))!;
    return c.order(host, ids)[0]!;
  });
  c.lose = (from, _, { type }) => type === 'URLS' && leavers.includes(from);
  c.startAll();
  c.run(5 * SUSPECT_MS);
  for (const id of leavers) c.agents.get(id)!.core.leave(c.instant(id));
  c.lose = () => false;
  c.run(10 * SUSPECT_MS);
  const left = leavers.filter((id) => c.agents.get(id)!.end === null);
  return left.map((id) => `${id} has not left`);
}

/**
 * Many agents join at once and own hosts of the others. No LIST arrives for some time, so the others
 * hand over late, when they know no owner of these hosts any more.
 */
function listsLate(): string[] {
  const keys = keysOf(SIZES);
  const ids = NAMES.slice(0, 16).sort((a, b) => (keys(a)[0]! < keys(b)[0]! ? -1 : 1));
  const [joining, present] = [ids.slice(0, 8), ids.slice(8)];
  const kademlia = { ...SIZES, contacts: present.slice(0, 2) };
  const web = denseWeb(24, 20);
  const weather = { loss: 0.2, duplicate: 0.05, slow: 0.2, slowMs: 400 };
  const seeds = [...web.keys()].slice(0, 24);
  const c = new Cluster({ ids, web, seeds, kademlia, weather, seed: 6, delayMs: 150 });
  for (const id of present) c.start(id);
  c.runUntil('some pages were fetched', () => c.fetched().size > 60, 100 * SUSPECT_MS);
  c.lose = (_, __, { type }) => type === 'LIST';
  for (const id of joining) c.start(id);
  c.run(1.5 * SUSPECT_MS);
  c.lose = () => false;
  c.run(60 * SUSPECT_MS);
  const running = c.living().map(({ id }) => `${id} has not ended`);
  return [...running, ...c.impolite(), ...missing(c.log, c.web.keys())];
}

/**
 * Agents start, and every answer about their regions is lost: they must not join. The model
 * (`one-answer`, `no-barrier`) shows the harm of a join without these answers.
 */
function regionsUntold(): string[] {
  const ids = NAMES.slice(0, 16);
  const late = ids.slice(12);
  const kademlia = { ...SIZES, contacts: ids.slice(0, 2) };
  const web = denseWeb(20, 40);
  const c = new Cluster({ ids, web, seeds: ['http://h0.test/p0'], kademlia, delayMs: 200 });
  for (const id of ids.slice(0, 12)) c.start(id);
  c.run(3 * SUSPECT_MS);
  c.lose = (_, to, { type }) => type === 'REGION_TOLD' && late.includes(to);
  for (const id of late) c.start(id);
  c.run(3 * SUSPECT_MS);
  const joined = late.filter((id) => c.snapshot(id).joined);
  c.lose = () => false;
  c.run(3 * SUSPECT_MS);
  return [...joined.map((id) => `${id} joined, but was told of no region`), ...c.impolite()];
}

/**
 * Agents start, and each cannot reach the owner of a host that it will own. Other agents name that
 * owner before any of them vouches for it.
 */
function ownersUnreached(): string[] {
  const ids = NAMES.slice(0, 16);
  const [present, late] = [ids.slice(0, 12), ids.slice(12)];
  const kademlia = { ...SIZES, contacts: ids.slice(0, 2) };
  const web = denseWeb(20, 40);
  const c = new Cluster({ ids, web, seeds: ['http://h0.test/p0'], kademlia, delayMs: 200 });
  for (const id of present) c.start(id);
  c.run(3 * SUSPECT_MS);
  const hosts = [...new Set([...c.web.keys()].map((url) => new URL(url).host))];
  const hostOf = (id: AgentId) => hosts.find((host) => c.order(host, ids)[0] === id)!;
  const cut = new Map(late.map((id) => [id, c.order(hostOf(id), present)[0]]));
  c.lose = (from, to) => cut.get(from) === to || cut.get(to) === from;
  for (const id of late) c.start(id);
  c.run(0.9 * SUSPECT_MS);
  c.lose = () => false;
  c.run(3 * SUSPECT_MS);
  return c.impolite();
}

export const OVERLAY_SCHEDULES: Partial<Readonly<Record<OverlayRule, () => string[]>>> = {
  'regions-answered': regionsUntold,
  'named-awaited': ownersUnreached,
  'contacts-pinged': halfCrashes,
  'named-pinged': quarterCrashes,
  'regions-before-join': regionsUntold,
  'contacts-begin': strangerBegins,
  'contacts-asked': contactStartsLate,
  'withdrawn-listed': listsLate,
  'leavers-passed': ownersLeave,
  'waves-compared': workMoves,
  'census-quiet': hostsMoveInCensus,
  'directives-compared': directiveGiven,
};
