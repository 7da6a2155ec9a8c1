// The schema of `cluster`: the agents, how hosts are placed on them, and when an agent counts as
// dead.

import { z } from 'zod';
import { agentId, duration, listenEndpoint, peerEndpoint } from './leaves.ts';

/** With the ring, every agent sends heartbeats to every other: 1,000 send a million per interval. */
export const agentsMax = 1000;
/** Shares hardly become more even above this, and each identifier has a neighbourhood. */
const idsMax = 64;
/** A look-up asks this many agents at least. */
const bucketSizeMin = 4;
/** An answer names the whole bucket: some 10 KB. */
const bucketSizeMax = 100;
/** More messages at once would not make a look-up of a few steps faster. */
const concurrencyMax = 20;
/** Agents name at most 64 agents of a neighbourhood, which has up to twice as many as the minimum. */
const neighbourhoodMax = 32;
/** Without backups: the owner, its lease grantor and the next agent. */
const neighbourhoodMin = 3;

/** The relative share of an agent. */
export const agentCapacity = z.number().gt(0).max(1000);

const agentEntry = z.strictObject({
  id: agentId.meta({
    description: 'Name of the agent and of its directory. Never change it.',
    example: 'a1',
  }),
  listen: listenEndpoint.meta({
    description: 'Endpoint to bind.',
    example: 'tcp://127.0.0.1:7101',
  }),
  address: peerEndpoint.optional().meta({
    description: 'Endpoint for other agents, if not `listen`. Required if that is a wildcard.',
    example: 'tcp://10.0.0.5:7101',
  }),
  capacity: agentCapacity.prefault(1).meta({
    description:
      'Relative share of the hosts: max(1, round(capacity × replicas)) ring points, or with ' +
      'kademlia capacity × ids identifiers.',
  }),
});

/** An agent sends a PING to each of them. */
const contactsMax = 16;

const kademlia = z
  .strictObject({
    ids: z.int().min(1).max(idsMax).prefault(4).meta({
      description:
        'Identifiers of an agent of capacity 1. Higher: more even shares, more neighbours.',
    }),
    bucketSize: z
      .int()
      .min(bucketSizeMin)
      .max(bucketSizeMax)
      .prefault(20)
      .meta({
        description:
          'Agents known in each region of the key space. Higher: look-ups survive more failures, ' +
          'but need more messages.',
      }),
    concurrency: z.int().min(1).max(concurrencyMax).prefault(3).meta({
      description: 'Agents that a look-up asks at once. Higher: faster, more messages.',
    }),
    neighbourhood: z
      .int()
      .min(neighbourhoodMin)
      .max(neighbourhoodMax)
      .prefault(5)
      .meta({
        description:
          'Agents that know each other in the region around an identifier, at least backups + 3. ' +
          'Higher: more may fail at once, more heartbeats.',
      }),
  })
  .prefault({})
  .meta({ description: 'Parameters of kademlia.' });

export const cluster = z
  .strictObject({
    agents: z
      .union([z.int().min(1).max(agentsMax), z.array(agentEntry).max(agentsMax)], {
        error: 'must be a number of agents or a list of them',
      })
      .prefault(1)
      .meta({
        description: 'A list, or a number N: a1 to aN on free ports of 127.0.0.1.',
        example: 4,
      }),
    overlay: z
      .enum(['ring', 'kademlia'])
      .prefault('ring')
      .meta({
        description:
          'ring: each agent knows all others. kademlia: each knows only its neighbours; ' +
          'not with quorum: majority.',
      }),
    contacts: z
      .array(
        peerEndpoint.refine((text) => text.startsWith('tcp://'), {
          error: 'must begin with tcp://',
        }),
      )
      .max(contactsMax)
      .prefault([])
      .meta({
        description:
          'Agents through which others join with `agent --id ID --listen ENDPOINT`; `agents` may ' +
          'then be absent. Only for kademlia.',
        example: ['tcp://10.0.0.5:7101'],
      }),
    kademlia,
    replicas: z
      .int()
      .min(1)
      .max(10_000)
      .prefault(200)
      .meta({
        description:
          'Ring points of an agent of capacity 1; unused with kademlia. Shares differ by about ' +
          '1 / sqrt(replicas). Higher: more even, slower to build.',
      }),
    backups: z
      .int()
      .min(0)
      .max(16)
      .prefault(1)
      .meta({
        description:
          'Other agents that keep a copy of each host; so many may be lost at once without loss ' +
          'of URLs. Each costs about two small rows per page.',
      }),
    quorum: z
      .enum(['none', 'majority'])
      .prefault('none')
      .meta({
        description:
          'none: each side of a network partition continues. majority: only a side with more ' +
          'than half of the configured agents.',
      }),
    failureDetector: z
      .strictObject({
        heartbeatMs: duration(10)
          .prefault(1000)
          .meta({
            description:
              'Interval of heartbeats, at most suspectAfterMs / 3. Higher: fewer messages, later ' +
              'takeover.',
            example: '1s',
          }),
        suspectAfterMs: duration(30)
          .prefault(10_000)
          .meta({
            description:
              'Time without news after which an agent counts as dead, up to twice as long after ' +
              'mistakes. Higher: fewer mistakes, later takeover.',
            example: '10s',
          }),
      })
      .prefault({})
      .meta({ description: 'When an agent counts as dead.' }),
  })
  .prefault({})
  .meta({ description: 'How agents share the work.' });
