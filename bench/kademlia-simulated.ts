// Measures large clusters on virtual time. For each number of agents: look-ups, members, state,
// heartbeats and messages of one agent, and how a crawl recovers from the loss of a tenth of the
// agents at once.

import { type Bare, bare, membersOf } from './kademlia-bare.ts';
import { type Life, live } from './kademlia-cluster.ts';
import type { SeenLookup } from './kademlia-lookups.ts';
import type { KademliaGiven, KademliaPart } from './kademlia-part.ts';
import { balance } from './paper-measures.ts';
import { progress, type Table, verdict } from './report.ts';

/** What an agent of the larger cluster may cost over one of the smaller. */
const growth = { from: 64, to: 1024, most: 1.3 };

const routed = new Set(['FIND_NODE', 'FOUND_NODES', 'PING']);

export function simulated(given: KademliaGiven): KademliaPart {
  const sizes = given.agents.toSorted((a, b) => a - b);
  const lives: Life[] = [];
  const bares: Bare[] = [];
  for (const agents of sizes) {
    const startedMs = performance.now();
    if (agents <= given.whole) lives.push(live(given, agents));
    bares.push(bare(given, agents));
    progress(`${agents} agents: took ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
  }
  const isBare = sizes.filter((agents) => agents > given.whole);
  return {
    tables: [
      lookupTable(bares),
      stateTable(bares, lives),
      ...lives.map(typeTable),
      hostTable(lives),
      lifeTable(lives),
    ],
    charts: [],
    remarks: [
      ...bares.map(hopsVerdict),
      ...growthVerdicts(given, lives),
      ...lives
        .filter(({ joined }) => joined.messages === null)
        .map(
          ({ agents }) =>
            `${agents} agents started with the members and contacts of a cluster that has run ` +
            `for a while (--grown ${given.grown}).`,
        ),
      ...isBare.map(
        (agents) =>
          `${agents} agents ran without cores and stores (--whole ${given.whole}): their ` +
          'heartbeats are their members, and they did not crawl.',
      ),
    ],
    figures: { lives: lives.map(figuresOf), bares: bares.map(figuresOf) },
  };
}

function lookupTable(bares: readonly Bare[]): Table {
  return {
    title: 'Look-ups of random keys, by the routing tables alone:',
    columns: ['agents', 'look-ups', 'right', 'hops, mean', 'most', '⌈log2 N⌉', 'requests, mean'],
    rows: bares.map(({ agents, lookups, right, hopsMean, hopsMost, requests }) => [
      ...[String(agents), String(lookups), `${(100 * right).toFixed(2)} %`],
      ...[hopsMean.toFixed(2), String(hopsMost), String(Math.ceil(Math.log2(agents)))],
      requests.toFixed(1),
    ]),
  };
}

function stateTable(bares: readonly Bare[], lives: readonly Life[]): Table {
  return {
    title: 'One agent when nothing happens; members send each other heartbeats:',
    columns: [
      ...['agents', 'members, mean', 'most', 'contacts, mean', 'heartbeats a period'],
      ...['other messages a period', 'heap KiB', 'file KiB', 'messages to join'],
    ],
    rows: bares.map(({ agents, members, contacts, messagesToJoin, heapBytes }) => {
      const life = lives.find((one) => one.agents === agents);
      const seen = life?.members ?? members;
      const joins = life ? life.joined.messages : messagesToJoin;
      return [
        ...[
          String(agents),
          mean(seen).toFixed(1),
          String(seen.at(-1)),
          mean(life?.knows ?? contacts).toFixed(1),
        ],
        ...[(life?.heartbeats ?? mean(members)).toFixed(1), life?.still.toFixed(2) ?? '-'],
        ...[kib(life?.heapBytes ?? heapBytes), life ? kib(life.fileBytes) : '-'],
        joins?.toFixed(0) ?? '-',
      ];
    }),
  };
}

function typeTable({ agents, perPage }: Life): Table {
  const types = Object.entries(perPage).sort(([, a], [, b]) => b - a);
  return {
    title: `Messages for a page with ${agents} agents, without heartbeats:`,
    columns: ['type', 'messages'],
    rows: types.map(([type, messages]) => [type, messages.toFixed(2)]),
  };
}

function hostTable(lives: readonly Life[]): Table {
  return {
    title: 'Look-ups of hosts in the crawl; again: by an agent that has looked the host up before:',
    columns: [
      ...['agents', 'a page', 'again', 'requests, mean', 'most', 'hops, mean', 'most', 'wrong'],
    ],
    rows: lives.map(({ agents, half, wrong, lookups: { crawl } }) => {
      const [requests, hops] = [crawl.map((one) => one.requests), crawl.map((one) => one.hops)];
      const different = new Set(crawl.map(({ from, key }) => `${from} ${key}`)).size;
      return [
        ...[String(agents), (crawl.length / half).toFixed(2), String(crawl.length - different)],
        ...[mean(requests).toFixed(2), String(Math.max(...requests))],
        ...[mean(hops).toFixed(2), String(Math.max(...hops)), String(wrong)],
      ];
    }),
  };
}

function lifeTable(lives: readonly Life[]): Table {
  return {
    title: 'The crawl, in which a tenth of the agents crash at half of the pages, at one moment:',
    columns: [
      ...['agents', 'joined', 'pages', 'messages a page', 'without look-ups'],
      ...['share deviation', 'crashed', 'missing', 'again', 'recovery s', 'end s'],
    ],
    rows: lives.map((life) => [
      ...[String(life.agents), String(life.joined.agents), String(life.pages)],
      ...[messagesOf(life).toFixed(1), messagesOf(life, routed).toFixed(1)],
      ...[deviationOf(life).toFixed(2), String(life.crashed), String(life.missing)],
      ...[String(life.again), seconds(life.recoveryMs), seconds(life.completionMs)],
    ]),
  };
}

function hopsVerdict({ agents, hopsMost }: Bare): string {
  return verdict(`Most hops of ${agents} agents`, hopsMost, Math.ceil(Math.log2(agents)), 0);
}

/** Compares the smallest cluster of at least `from` agents with the largest. */
function growthVerdicts(given: KademliaGiven, lives: readonly Life[]): string[] {
  const [small, large] = [lives.find(({ agents }) => agents >= growth.from), lives.at(-1)];
  const { ids, neighbourhood } = given;
  const computed = (agents: number) => mean(membersOf(agents, ids, neighbourhood));
  const [few, many] = [growth.from, growth.to].map(computed) as [number, number];
  const expected = verdict(
    `Members of ${growth.to} agents over those of ${growth.from}, by the rules ` +
      `(${many.toFixed(1)} and ${few.toFixed(1)})`,
    many / few,
    growth.most,
  );
  if (!small || !large || large.agents <= small.agents) return [expected];
  const over = `of ${large.agents} agents over those of ${small.agents}`;
  const of = (what: string, figure: (life: Life) => number) =>
    verdict(`${what} ${over}`, figure(large) / figure(small), growth.most);
  return [
    expected,
    of('Heartbeats', ({ heartbeats }) => heartbeats),
    of('Members', ({ members }) => mean(members)),
    of('Messages a page', (life) => messagesOf(life)),
    of('Messages a page without look-ups', (life) => messagesOf(life, routed)),
  ];
}

function messagesOf({ perPage }: Life, without: ReadonlySet<string> = new Set()): number {
  return Object.entries(perPage).reduce((sum, [type, n]) => sum + (without.has(type) ? 0 : n), 0);
}

/** The standard deviation of the agents' shares of the hosts. */
function deviationOf({ hostsOf }: Life): number {
  return balance(
    hostsOf,
    hostsOf.map(() => 1),
  );
}

function figuresOf(one: Life | Bare): unknown {
  const members = { members: mean(one.members), membersMost: one.members.at(-1) };
  if ('contacts' in one) return { ...one, ...members, contacts: mean(one.contacts) };
  const of = (lookups: readonly SeenLookup[]) => ({
    count: lookups.length,
    hops: mean(lookups.map(({ hops }) => hops)),
    requests: mean(lookups.map(({ requests }) => requests)),
  });
  const lookups = { joins: of(one.lookups.joins), crawl: of(one.lookups.crawl) };
  const knows = mean(one.knows);
  const rest = { lookups, knows, hostsOf: undefined, deviation: deviationOf(one) };
  return { ...one, ...members, ...rest };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function kib(bytes: number): string {
  return (bytes / 1024).toFixed(0);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
