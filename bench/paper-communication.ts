// Communication: URLs sent per page crawled, against the number of agents and against the share of
// links to other hosts. URLs are counted in simulated crawls with the real core; messages and bytes
// also in crawls by agent processes.

import path from 'node:path';
import { temporaryDirectory } from './leftovers.ts';
import { expectedSent, foreignLinks } from './paper-measures.ts';
import type { PaperGiven, Part } from './paper-part.ts';
import { crawlPlain } from './plain-cluster.ts';
import { linksPerPage, PlainWeb } from './plain-web.ts';
import { freePort } from './ports.ts';
import { progress, type Table } from './report.ts';
import { crawlSimulated } from './simulated-crawl.ts';
import { sentPerPage } from './traffic-table.ts';

/** Links of a simulated page, beside those that make every page reachable. */
const links = 12;
const agentsForLinks = 8;

interface Sent {
  readonly agents: number;
  /** Links of a page to other hosts, and their share of all its links. */
  readonly foreign: number;
  readonly share: number;
  readonly urls: number;
  readonly expected: number;
  readonly messages: number;
}

export async function communication(given: PaperGiven): Promise<Part> {
  const byAgents: Sent[] = [];
  for (let agents = 1; agents <= given.most; agents *= 2) {
    byAgents.push(simulateLinks(given, agents, links / 2));
  }
  const byLinks = [0, 6, 12].map((far) => simulateLinks(given, agentsForLinks, far));
  const { table: real, figures } = await realTable();
  return {
    tables: [
      sentTable('URLs sent per page, against the agents; simulated with the real core:', byAgents),
      sentTable(`The same, against the links to other hosts; ${agentsForLinks} agents:`, byLinks),
      real,
    ],
    charts: [
      chartOf('URLs sent per page, against the agents (simulated)', byAgents, (one) => {
        return `${one.agents} agents`;
      }),
      chartOf(
        'URLs sent per page, against the share of foreign links (simulated)',
        byLinks,
        (one) => {
          return `${(one.share * 100).toFixed(0)} % foreign`;
        },
      ),
    ],
    figures: { byAgents, byLinks, real: figures },
  };
}

function simulateLinks({ hosts, pages }: PaperGiven, agents: number, far: number): Sent {
  const size = { agents, hosts, pages, links: far, nearLinks: links - far, backups: 1, seed: 1 };
  const { web, root, urlsSent, counts } = crawlSimulated(size);
  const foreign = foreignLinks(web, root);
  const urls = urlsSent / web.size;
  progress(`${agents} agents, ${far} links to any host: ${urls.toFixed(2)} URLs a page`);
  return {
    ...{ agents, foreign: foreign.links, share: foreign.share, urls },
    expected: expectedSent(foreign.links, agents),
    messages: (counts.get('URLS')?.messages ?? 0) / web.size,
  };
}

function sentTable(title: string, all: readonly Sent[]): Table {
  const rows = all.map(({ agents, foreign, share, urls, messages, expected }) => [
    `${agents} agents`,
    `${foreign.toFixed(2)}, ${(share * 100).toFixed(0)} %`,
    ...[urls, messages, expected].map((value) => value.toFixed(2)),
  ]);
  const columns = ['', 'foreign links a page', 'URLs sent', 'messages', 'each link sent: λ(n-1)/n'];
  return { title, columns, rows };
}

function chartOf(title: string, all: readonly Sent[], name: (one: Sent) => string) {
  const bars = all.flatMap((one) => [
    { title: name(one), value: one.urls, isOwn: true },
    { title: 'λ(n-1)/n', value: one.expected, isOwn: false },
  ]);
  return { title, digits: 2, bars };
}

const realSize = { hosts: 50, pages: 500, bodyBytes: 8_000 };

async function realTable() {
  const figures: { agents: number; far: number; messages: number; bytes: number }[] = [];
  for (const [agents, far] of [
    [4, 2],
    [4, 8],
    [4, 20],
  ] as const) {
    const { directory, remove } = temporaryDirectory();
    try {
      const web = new PlainWeb({ ...realSize, farLinks: far }, await freePort());
      const root = path.join(directory, 'web');
      web.write(root);
      const crawl = await crawlPlain(web, root, {
        ...{ agents, backups: 1, threads: 16, client: 'got', warc: false },
        ...{ durability: 'process', follow: 'agent' },
      });
      const [messages, bytes] = sentPerPage([crawl]).get('URLS') ?? [0, 0];
      progress(`${agents} agents, ${far} far links: ${messages.toFixed(2)} messages a page`);
      figures.push({ agents, far, messages, bytes });
    } finally {
      remove();
    }
  }
  const rows = figures.map(({ agents, far, messages, bytes }) => [
    `${agents} agents`,
    `${far} of ${linksPerPage}`,
    messages.toFixed(2),
    bytes.toFixed(0),
  ]);
  const title = `URLS messages per page of agent processes; ${realSize.pages} pages:`;
  const columns = ['', 'links to any host', 'messages', 'bytes'];
  return { table: { title, columns, rows }, figures };
}
