// Messages and bytes per page of clusters that are too large for one machine, on virtual time. Some
// four links of each page lead to random hosts, so in a large cluster nearly all belong to other
// agents. The cost of links can grow up to one message for each such link, but no further.
// node bench/scale-simulated.ts [--most 32] [--hosts 8] [--pages 12] [--links 4] [--backups 1]

import { whole } from './flags.ts';
import { command, progress, type Report } from './report.ts';
import { type Simulated, simulate } from './simulated-crawl.ts';

const flags = {
  /** Agents: 1, 2, 4 and so on up to this. Each doubling takes some three times as long. */
  most: 32,
  ...{ hosts: 8, pages: 12, links: whole(4, 0), backups: whole(1, 0, 16), seed: whole(1, 0) },
};

const types = ['URLS', 'URLS_ACK', 'KNOWN', 'ROWS', 'ROWS_ACK'];

await command('scale-simulated', flags, async ({ most, ...size }): Promise<Report> => {
  const crawls: Simulated[] = [];
  for (let agents = 1; agents <= most; agents *= 2) {
    const crawl = simulate({ agents, ...size });
    progress(`${agents} agents: ${crawl.all.messages.toFixed(2)} messages a page`);
    crawls.push(crawl);
  }
  const rows = crawls.map(({ agents, pages, sent, all, heartbeats }) => [
    `${agents} agents`,
    String(pages),
    ...[...types.map((type) => sent[type] ?? { messages: 0, bytes: 0 }), all].map(
      ({ messages, bytes }) => `${messages.toFixed(2)}, ${bytes.toFixed(0)} B`,
    ),
    `${heartbeats.messages.toFixed(1)}, ${(heartbeats.bytes / 1024).toFixed(1)} KiB`,
  ]);
  const columns = ['', 'pages', ...types, 'all', 'heartbeats a period'];
  const title = 'Messages and bytes sent per page, and heartbeats of an agent, on virtual time:';
  return { tables: [{ title, columns, rows }], remarks: [], figures: crawls };
});
