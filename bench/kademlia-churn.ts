// Look-ups while agents come and go: a tenth of the agents is replaced each minute, on virtual time,
// with the routing tables and look-ups of the product. A look-up is right if no agent that had joined
// before it and survived it is nearer to its key than the agent that it found.

import { lookupsUnderChurn, networkDefaults } from '../test/simulation/kademlia-network.ts';
import type { KademliaGiven, KademliaPart } from './kademlia-part.ts';
import { progress } from './report.ts';

const agents = 1000;
const replacedPerMinute = 0.1;
const lookupsPerMinute = 2000;
const rightLeast = 0.999;

export function churn({ ids, bucket: bucketSize, minutes, seed }: KademliaGiven): KademliaPart {
  progress(`${agents} agents join, and ${minutes} minutes of churn follow`);
  const of = { ...networkDefaults, seed, ids, bucketSize, agents };
  const figures = lookupsUnderChurn({ ...of, replacedPerMinute, minutes, lookupsPerMinute });
  const { lookups, nearest, hopsMax, hopsMean, messagesMean, tookMeanMs } = figures;
  const right = nearest / lookups;
  const word = right >= rightLeast ? 'holds' : 'missed';
  const bound = Math.ceil(Math.log2(agents));
  return {
    tables: [
      {
        title:
          `Look-ups of ${agents} agents of ${ids} identifiers, of which ` +
          `${replacedPerMinute * 100} % are replaced each minute, in ${minutes} minutes:`,
        columns: ['look-ups', 'right', 'hops, mean', 'most', 'requests, mean', 'ms, mean'],
        rows: [
          [
            String(lookups),
            `${(100 * right).toFixed(2)} %`,
            ...[hopsMean.toFixed(2), String(hopsMax)],
            ...[messagesMean.toFixed(1), tookMeanMs.toFixed(0)],
          ],
        ],
      },
    ],
    charts: [],
    remarks: [
      `Look-ups that found the nearest agent: ${(100 * right).toFixed(2)} % ` +
        `(at least ${100 * rightLeast} %: ${word}).`,
      `Hops: at most ${hopsMax} (⌈log2 N⌉ is ${bound}: ${hopsMax <= bound ? 'holds' : 'missed'}).`,
    ],
    figures,
  };
}
