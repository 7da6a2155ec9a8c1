// Balance: the standard deviation of the agents' shares relative to their capacities, against
// `replicas` and capacities. In theory it is computed from the ring; in a crawl, which is simulated
// with the real core, pages are counted where they were fetched. A crawl also draws its hosts, which
// adds a deviation that no ring can avoid.

import { createHash } from 'node:crypto';
import { findCollision } from '../assignment/collision.ts';
import { Ring } from '../assignment/ring.ts';
import { RingPoints } from '../assignment/ring-points.ts';
import { balance, expectedBalance } from './paper-measures.ts';
import type { PaperGiven, Part } from './paper-part.ts';
import { progress } from './report.ts';
import { spread } from './sample.ts';
import { crawlSimulated } from './simulated-crawl.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest();
/** Sets of identifiers: the deviation of one ring is itself random. */
const sets = 25;

const capacitySets = {
  equal: [1, 1, 1, 1, 1, 1, 1, 1],
  unequal: [1, 1, 1, 1, 2, 2, 4, 4],
} as const;

export function paperBalance(given: PaperGiven): Part {
  const hosts = given.hosts * given.pages;
  const figures = Object.entries(capacitySets).flatMap(([name, capacities]) =>
    [1, 50, 200].map((replicas) => {
      progress(`balance: ${name} capacities, ${replicas} replicas`);
      const theory = expectedBalance(replicas, capacities);
      const rings = ringBalance(replicas, capacities);
      const crawl = crawlBalance(replicas, capacities, hosts);
      return { name, replicas, theory, rings, crawl };
    }),
  );
  const percent = (value: number) => `${(value * 100).toFixed(1)} %`;
  const rows = figures.map(({ name, replicas, theory, rings, crawl }) => [
    `${name}, ${replicas}`,
    percent(theory),
    `${percent(rings.mean)} (${percent(rings.least)}-${percent(rings.most)})`,
    percent(crawl.measured),
    percent(crawl.expected),
    replicas === 200 ? '≲ 7 % (design)' : '-',
  ]);
  const columns = ['capacities, replicas', 'theory', `${sets} rings`];
  return {
    tables: [
      {
        title: `Standard deviation of the shares of 8 agents; crawls of ${8 * hosts} hosts, simulated:`,
        columns: [...columns, 'a crawl', 'expected there', 'target'],
        rows,
      },
    ],
    charts: [
      {
        title: 'Standard deviation of the shares, %, 8 agents of equal capacity',
        digits: 1,
        bars: figures
          .filter(({ name }) => name === 'equal')
          .flatMap(({ replicas, rings, theory }) => [
            { title: `${replicas} replicas`, value: rings.mean * 100, isOwn: true },
            { title: 'theory', value: theory * 100, isOwn: false },
          ]),
      },
    ],
    figures,
  };
}

/** The root mean square of all sets, which is what theory gives. */
function ringBalance(replicas: number, capacities: readonly number[]) {
  const values = Array.from({ length: sets }, (_, set) => {
    const members = capacities.map((capacity, k) => ({ id: `s${set}-${k}`, capacity }));
    const shares = new Ring(members, { replicas, sha256 }).shares();
    return balance(
      members.map(({ id }) => shares.get(id) ?? 0),
      capacities,
    );
  });
  const { least, most } = spread(values);
  const squares = values.reduce((sum, value) => sum + value ** 2, 0);
  return { mean: Math.sqrt(squares / sets), least, most };
}

/** One page on each host, so that hosts and pages are the same. */
function crawlBalance(replicas: number, capacities: readonly number[], hosts: number) {
  const points = new RingPoints({ replicas, sha256 });
  const agents = capacities.length;
  const { log } = crawlSimulated(
    { agents, hosts, pages: 1, links: 0, backups: 0, seed: 1 },
    {
      settings: (id) => ({
        capacity: capacities[Number(id.slice(1)) - 1] ?? 1,
        build: (members) => new Ring(members, points),
        collision: (members) => findCollision(members, points),
      }),
    },
  );
  const pages = log.filter(({ url, whole }) => whole && !url.endsWith('/robots.txt'));
  const fetched = capacities.map((_, k) => pages.filter(({ by }) => by === `a${k + 1}`).length);
  return {
    measured: balance(fetched, capacities),
    expected: expectedBalance(replicas, capacities, agents * hosts),
  };
}
