// The measures of the paper on UbiCrawler, for this cluster, with the published claims beside them:
// coverage and overlap, communication, balance and speed. Some need more agents than one machine can
// run. These come from crawls on virtual time with the real core and store, and are marked.
// node bench/paper.ts [--only coverage,communication,balance,speed] [--hosts 8] [--pages 12]
// [--most 16] [--runs 1] [--write 0] [--json]
// `--write 1` draws docs/paper.svg.

import fs from 'node:fs';
import path from 'node:path';
import { whole, zeroOrOne } from './flags.ts';
import { paperBalance } from './paper-balance.ts';
import { source } from './paper-claims.ts';
import { communication } from './paper-communication.ts';
import { coverage } from './paper-coverage.ts';
import { chartsOf, type PaperGiven, type Part } from './paper-part.ts';
import { speed } from './paper-speed.ts';
import { type Parts, runParts } from './parts.ts';
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

const parts: Parts<PaperGiven, Part> = { coverage, communication, balance: paperBalance, speed };

await command('paper', flags, async (given): Promise<Report> => {
  const { done, report } = await runParts(parts, ['only', given.only], given);
  if (given.write === 1) {
    const svg = chartsOf(done.flatMap(({ charts }) => charts));
    fs.writeFileSync(path.join(import.meta.dirname, '../docs/paper.svg'), svg);
  }
  const published = `Published: ${source}. λ: links of a page to other hosts, n: agents.`;
  return { ...report, remarks: [published] };
});
