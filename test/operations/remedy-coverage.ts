// Remedies of the product that no situation of this folder tries: those that another test follows,
// those that no test follows, and texts that look like a remedy and name none.

export interface TriedElsewhere {
  readonly says: string;
  /** A test file and the beginning of the name of a test in it, which does what is said. */
  readonly by: readonly [file: string, test: string];
}

const fewer = 'test/integration/slow/fewer-agents.test.ts';
const disks = 'test/chaos/storage-disk.test.ts';

export const triedElsewhere: readonly TriedElsewhere[] = [
  ...[
    'start them too:',
    'agent/cli/state-files/left-out-text.ts:   ubiring launch',
    'put each back into',
  ].map((says) => ({
    says,
    by: [fewer, 'launch refuses to leave out agents with open work'] as const,
  })),
  ...[
    'to retire them, start them in this way',
    'agent/cli/state-files/left-out-text.ts:   ubiring stop',
  ].map((says) => ({
    says,
    by: [fewer, 'an agent that hands over while it runs may be left out after that'] as const,
  })),
  {
    says: 'agent/cli/agent/repair.ts:   ubiring launch … --repair',
    by: ['test/integration/slow/repair.test.ts', 'launch refuses where more states are lost than'],
  },
  ...[
    'agent/archive/archive-failure.ts: disk full',
    'agent/storage/file/storage-failure.ts: disk full',
  ].map((says) => ({
    says,
    by: [disks, 'an agent alone on a full disk stops, and continues with space'] as const,
  })),
  ...['agent/cli/common/exit-code.ts: disk full', 'config/file/ports.ts: disk full'].map(
    (says) => ({
      says,
      by: [
        'test/integration/launch-unwritable.test.ts',
        'launch: a data directory on a full disk is 3, said once, with the remedy',
      ] as const,
    }),
  ),
  ...['or give … another port in', 'or stop the agents that run, and launch again'].map((says) => ({
    says,
    by: [
      'test/integration/slow/cluster-file.test.ts',
      'a port that another program has taken',
    ] as const,
  })),
  {
    says: 'is damaged (…); nothing more is written; start the agent again',
    by: ['test/operations/file-situations.ts', 'a state is damaged while the others run'],
  },
  {
    says: 'agent/composition/agent-end.ts: …: raise the limit of open files (ulimit -n 4096)',
    by: ['test/operations/agent-situations.ts', 'too few open files'],
  },
  {
    says: 'agent/cli/state-files/stored-directives.ts: ',
    by: ['test/integration/slow/operator.test.ts', 'an order that completed the crawl is named by'],
  },
  {
    says: 'skipped as blocked, for example',
    by: [
      'test/integration/slow/operator.test.ts',
      'a pattern blocks, is listed until it is taken back',
    ],
  },
  {
    says: 'permission missing: … is of …; run the command as that user or as root',
    by: ['test/integration/slow/changed-agents.test.ts', 'agents whose config has other names now'],
  },
  {
    says: 'agent/cli/state-files/other-crawl.ts: ',
    by: [
      'test/integration/slow/crawl-names.test.ts',
      'a renamed config neither acts on its crawl nor',
    ],
  },
  {
    says: 'has left; remove it from the config, or start it again:',
    by: ['test/integration/slow/crawl-names.test.ts', 'status says of an agent that has left'],
  },
  {
    says: 'start each beside the others:',
    by: [
      'test/integration/slow/completion-by-hand.test.ts',
      'an agent by hand names the agents whose work waits',
    ],
  },
  {
    says: 'agent/core/operator/operator.ts: the crawl is complete: add the URL to the seeds',
    by: ['test/operations/agent-situations.ts', 'a seed for a crawl that does not run'],
  },
];

/** Remedies that no test follows, and what that would need. */
export const untried: readonly (readonly [says: string, needs: string])[] = [
  ['…: stop one of the two', 'two machines with the same agent'],
  ['… runs at …: stop that one, or this one at …', 'two machines with the same agent'],
  ['ring point shared by … and …: rename one', 'two names with the same 64 bits'],
  ['set the clock that is wrong; state that began', 'two machines with clocks a year apart'],
  [
    'agent/storage/file/storage-failure.ts: cannot read or write in …: …; look at',
    'a disk that fails',
  ],
  ['for lack of memory; give the machine or the container more', 'memory that runs out'],
  ['has a write-ahead log of …: end the program that reads', 'a log of 256 MiB'],
  ['one long transaction: end that program', 'a log of 256 MiB'],
  ['which is full: name a directory with room in TMPDIR', 'a full disk for temporary files'],
  ['too many commands at once; try again', 'more commands at once than a machine starts'],
  ['too many seeds are pending; try again', 'an owner that takes no seeds'],
  ['agent/storage/file/reading.ts: has schema …', 'a newer version'],
];

/** Parts of such texts, and why nothing is to be done. */
export const noRemedies: readonly (readonly [says: string, why: string])[] = [
  ['and the pages of lost records are queued again', 'the agent does so'],
  ['pages whose records were lost are queued again', 'the agent does so'],
  ['; it is started again in …', 'the launch does so'],
  ['the crawl is not complete and continues; --refresh needs a complete', 'it continues'],
  ['agent/storage/schema/move-rows.ts: ', 'a list of columns'],
  ['agent/cli/state-files/left-out-text.ts:  --', 'an option of the command around it'],
  ['agent/cli/common/load-config.ts: … --data …', 'an option of the command around it'],
  ['agent/cli/common/next-steps.ts:   ubiring query …', 'a query to look at the result'],
  ['agent/cli/agent/local-agents.ts: --agents', 'says what the option takes'],
];
