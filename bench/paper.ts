// The measures of the paper on UbiCrawler, for this cluster, with the published claims beside them:
// coverage and overlap, communication, balance and speed. Some need more agents than one machine can
// run. These come from crawls on virtual time with the real core and store, and are marked.
// node bench/paper.ts [--only coverage,communication,balance,speed] [--hosts 8] [--pages 12]
// [--most 16] [--runs 1] [--write 0] [--json]
// `--write 1` draws docs/paper.svg.

import fs from 'node:fs';
import path from 'node:path';
import { UsageError, whole, zeroOrOne } from './flags.ts';
import { paperBalance } from './paper-balance.ts';
import { source } from './paper-claims.ts';
import { communication } from './paper-communication.ts';
import { coverage } from './paper-coverage.ts';
import { chartsOf, type PaperGiven, type Part } from './paper-part.ts';
import { speed } from './paper-speed.ts';
import { command, type Report } from './report.ts';

const flags = {
  /** Names of parts; all by default. */
  only: '',
  /** Hosts of each agent, and pages of each host. */
  ...{ hosts: whole(8, 2, 1000), pages: whole(12, 5, 1000) },
  /** The largest simulated cluster: 1, 2, 4 and so on up to this. */
  most: whole(16, 1, 256),
  ...{ runs: 1, write: zeroOrOne(0) },
};

const parts: Readonly<Record<string, (given: PaperGiven) => Part | Promise<Part>>> = {
  coverage,
  communication,
  balance: paperBalance,
  speed,
};

await command('paper', flags, async (given): Promise<Report> => {
  const done: Record<string, Part> = {};
  for (const name of chosen(given.only)) {
    const part = await parts[name]?.(given);
    if (part !== undefined) done[name] = part;
  }
  const all = Object.values(done);
  if (given.write === 1) {
    const svg = chartsOf(all.flatMap(({ charts }) => charts));
    fs.writeFileSync(path.join(import.meta.dirname, '../docs/paper.svg'), svg);
  }
  return {
    tables: all.flatMap(({ tables }) => tables),
    remarks: [`Published: ${source}. λ: links of a page to other hosts, n: agents.`],
    figures: Object.fromEntries(Object.entries(done).map(([name, { figures }]) => [name, figures])),
  };
});

function chosen(only: string): readonly string[] {
  if (only === '') return Object.keys(parts);
  const names = only.split(',');
  const unknown = names.find((name) => !Object.hasOwn(parts, name));
  if (unknown === undefined) return names;
  const known = Object.keys(parts).join(', ');
  throw new UsageError(`--only ${only}: there is no part ${unknown}; there are ${known}`);
}
