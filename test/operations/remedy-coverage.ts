// Remedies of the product that no situation of this folder covers: remedies that another test
// follows, remedies that no test follows, and texts that only look like a remedy.

export interface TriedElsewhere {
  readonly says: string;
  /** A test file and the start of the title of a test in it that follows the remedy. */
  readonly by: readonly [file: string, test: string];
}

const fewer = 'test/integration/slow/fewer-agents.test.ts';
const disks = 'test/chaos/storage-disk.test.ts';
const servers = 'test/contract/networks/refused-servers.test.ts';

export const triedElsewhere: readonly TriedElsewhere[] = [
  {
    says: 'is of an earlier run and is not read; move that directory away',
    by: [
      'test/integration/slow/two-machines.test.ts',
      'a state here of an agent that runs elsewhere is named and not read',
    ],
  },
  ...[
    'is this agent itself: write its address in cluster.contacts as …',
    'join-wait.ts: another agent … runs at …: stop that one, or start this one with another',
  ].map((says) => ({
    says,
    by: [
      'test/integration/contacts.test.ts',
      'an agent says that its contact has its identifier, or is the agent itself',
    ] as const,
  })),
  ...(
    [
      ['it is Redis …; upgrade it to', 'the oldest Redis that suffices, and Valkey, are accepted'],
      ['network-failure.ts: ; set … or …_FILE', 'a password is needed, and must be right'],
      ['set maxmemory-policy to noeviction', 'a server that evicts keys is refused, with the'],
      ['name its authority in NODE_EXTRA_CA_CERTS', 'TLS is used once its authority is named'],
    ] as const
  ).map(([says, title]) => ({ says, by: [servers, title] as const })),
  ...[
    '--data names one directory; with several configs, set agent.dataDir in each',
    '…: is of network …, as is …; name each network once',
    'no agent has a state in …; correct agent.dataDir in …, or, if the data is lost',
  ].map((says) => ({
    says,
    by: ['test/integration/networks.test.ts', 'two networks fetch every page once'] as const,
  })),
  {
    says: 'send "next" of the previous answer of the same list, or no "after" to begin again',
    by: ['test/unit/cli/views/url-pages.test.ts', 'a token that is damaged, or of another list'],
  },
  ...[
    'query-errors.ts: run one statement at a time',
    'query-errors.ts: …, or name a column: …',
  ].map((says) => ({
    says,
    by: ['test/unit/cli/query/query-errors.test.ts', 'query: rejected SQL gets a remedy'] as const,
  })),
  {
    says: 'look at that Redis and the way to it',
    by: [
      'test/unit/cli/top/problems.test.ts',
      'problems: reasons of agents that wait, of networks',
    ],
  },
  {
    says: 'without …: add the configs of all networks',
    by: [
      'test/unit/cli/audit/audit-networks.test.ts',
      'audit of networks: names networks without config, and settings that differ',
    ],
  },
  {
    says: 'start one of these Sentinels, or correct',
    by: ['test/contract/slow/redis-sentinel.test.ts', 'what is wrong is named with the remedy'],
  },
  {
    says: 'it is a read-only replica; use the address of its master',
    by: ['test/contract/networks/redis-link.test.ts', 'a master that becomes a replica is left'],
  },
  {
    says: "give each cluster a 'dedup.network' of its own",
    by: ['test/unit/networks/centre.test.ts', 'an agent which is no member has the role'],
  },
  {
    says: 'another program wrote its key …; delete this key',
    by: ['test/contract/networks/redis-junk.test.ts', 'settings that are none are refused'],
  },
  {
    says: 'its memory is full; raise maxmemory',
    by: ['test/contract/networks/redis-link.test.ts', 'a full memory fails what is written'],
  },
  {
    says: 'let monitor.tokens in the config name a file with lines such as',
    by: ['test/integration/http-api.test.ts', 'an agent serves what its config says'],
  },
  ...[
    'start them too:',
    'agent/cli/state-files/left-out-text.ts:   ubiring launch',
    'put each back into',
  ].map((says) => ({
    says,
    by: [fewer, 'launch refuses to omit agents with queued URLs'] as const,
  })),
  ...[
    'to retire them, start them in this way',
    'agent/cli/state-files/left-out-text.ts:   ubiring stop',
  ].map((says) => ({
    says,
    by: [fewer, 'launch may omit an agent that has handed over its hosts'] as const,
  })),
  ...[
    'and has not run here: add --listen ENDPOINT',
    'agent/cli/agent/agent-run.ts: --refresh requests its pages again; to start over, move',
    'agent/cli/common/load-config.ts: ubiring agent … --id ID --listen ENDPOINT…',
    'agent/cli/launch/launch-plan.ts: ubiring agent … --id ID --listen ENDPOINT',
    '…; start an agent, or name another directory with --data',
  ].map((says) => ({
    says,
    by: [
      'test/integration/kademlia.test.ts',
      'agents that know only contacts find each other and fetch every page once',
    ] as const,
  })),
  ...[
    '--listen needs cluster.contacts in the config',
    'which has its endpoint: leave out --listen',
    ...['listen', 'address', 'capacity'].map((one) => `agent/cli/agent/new-agent.ts: --${one} …: `),
    'needs --listen: the config has the values of its agents',
  ].map((says) => ({
    says,
    by: ['test/unit/cli/agent/new-agent.test.ts', 'new agent: an agent '] as const,
  })),
  {
    says: 'agent/cli/common/load-config.ts: … --listen …',
    by: ['test/unit/cli/state-files/left-out-text.test.ts', 'open work: an agent that joined'],
  },
  {
    says: 'so hosts move; --capacity changes it',
    by: ['test/integration/contacts.test.ts', 'an agent that restarts without its capacity'],
  },
  {
    says: 'agent/core/lifecycle/join-wait.ts: no agent answers at',
    by: ['test/integration/contacts.test.ts', 'without an answer of a contact, an agent says so'],
  },
  {
    says: 'agent/core/lifecycle/join-wait.ts: would begin a second cluster',
    by: [
      'test/integration/slow/second-cluster.test.ts',
      'an agent begins no second cluster if those',
    ],
  },
  ...['agent/core/lifecycle/join-wait.ts: begins a new cluster', 'do not know each other'].map(
    (says) => ({
      says,
      by: ['test/integration/slow/second-cluster.test.ts', 'status warns of agents'] as const,
    }),
  ),
  {
    says: 'the crawl is complete; try again when its agents have ended',
    by: [
      'test/simulation/slow/orders-at-end.test.ts',
      'an agent that has found the crawl complete refuses directives',
    ],
  },
  {
    says: 'connected; start at least',
    by: [
      'test/integration/slow/late-agents.test.ts',
      'an agent that was down at the end is told of it when the others are started again',
    ],
  },
  ...['too: only a contact begins a cluster; …', 'where it ran), there is nothing to join'].map(
    (says) => ({
      says,
      by: ['test/unit/core/lifecycle/join-wait.test.ts', 'says that they wait as well'] as const,
    }),
  ),
  {
    says: 'agent/cli/commands/ring-command.ts: ubiring undrain',
    by: ['test/unit/cli/commands/ring-command.test.ts', 'ring: says that all agents are drained'],
  },
  {
    says: 'after the end, --refresh finds those that pages link to',
    by: [
      'test/integration/slow/repair.test.ts',
      'launch continues the crawl if a state file is older than the completion record',
    ],
  },
  {
    says: 'agent/cli/agent/repair.ts:  --repair',
    by: [
      'test/integration/slow/repair.test.ts',
      'launch requires --repair if more state files are lost than',
    ],
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
        'launch: ends with 3 and names the remedy if the data directory is on a full disk',
      ] as const,
    }),
  ),
  ...['or give … another port in', 'or stop the agents that run, and launch again'].map((says) => ({
    says,
    by: [
      'test/integration/slow/cluster-file.test.ts',
      'a numbered agent gets another port if another program uses its port',
    ] as const,
  })),
  {
    says: 'is damaged (…); nothing more is written; start the agent again',
    by: [
      'test/operations/file-situations.ts',
      'a state file is damaged while the other agents run',
    ],
  },
  {
    says: 'agent/composition/agent-end.ts: …: raise the limit of open files (ulimit -n 4096)',
    by: ['test/operations/agent-situations.ts', 'the limit of open files is too low'],
  },
  {
    says: 'agent/cli/state-files/stored-directives.ts: ',
    by: [
      'test/integration/slow/operator.test.ts',
      'launch names a directive that completed the crawl',
    ],
  },
  {
    says: "launch-summary.ts: a directive (ubiring block … '…' --off)",
    by: [
      'test/integration/slow/operator.test.ts',
      'a blocked pattern is listed until it is withdrawn',
    ],
  },
  {
    says: 'a block that has ended (the next launch queues them again) or an address',
    by: ['test/integration/slow/operator.test.ts', 'launch names a directive that completed'],
  },
  ...[
    'directive-commands.ts: start the agents that do not run',
    'launch-plan.ts: …; start the others:',
  ].map((says) => ({
    says,
    by: [
      'test/integration/slow/operator.test.ts',
      'a directive that only an agent has which does not run',
    ] as const,
  })),
  {
    says: 'out of scope: …; change scope and launch again',
    by: [
      'test/integration/json-output.test.ts',
      'seed refuses invalid and out-of-scope URLs even if no agent runs',
    ],
  },
  {
    says: 'permission missing: … belongs to …; run the command as that user or as root',
    by: [
      'test/integration/slow/changed-agents.test.ts',
      'commands reach and kill agents whose names changed in',
    ],
  },
  {
    says: 'agent/cli/state-files/other-crawl.ts: ',
    by: [
      'test/integration/slow/crawl-names.test.ts',
      'no command with a renamed config acts on the running',
    ],
  },
  {
    says: 'has left; remove it from the config, or start it again:',
    by: [
      'test/integration/slow/crawl-names.test.ts',
      'status and receipts report that an agent has left, also after the others were restarted',
    ],
  },
  {
    says: 'agent/cli/top/problems.ts: remove it from the config, or start it: …',
    by: [
      'test/integration/slow/crawl-names.test.ts',
      'status and receipts report that an agent has left, also after the others were restarted',
    ],
  },
  {
    says: 'top/problems.ts: resume it: ubiring resume …',
    by: ['test/integration/top.test.ts', 'top on a terminal: keys'],
  },
  {
    says: 'to end the wait of one: ubiring block … HOST',
    by: [
      'test/integration/top.test.ts',
      'top names hosts that wait for robots.txt, and hosts whose',
    ],
  },
  ...['if it is a trap: …; if the pages differ', 'problems.ts: ubiring block … …'].map((says) => ({
    says,
    by: [
      'test/integration/top.test.ts',
      'top names hosts that wait for robots.txt, and hosts whose',
    ] as const,
  })),
  {
    says: 'or stop them and move their directories to another disk',
    by: [disks, 'an agent alone on a full disk stops, and continues with space'],
  },
  {
    says: 'problems.ts: start the agent: …',
    by: [
      'test/operations/file-situations.ts',
      'a state file is damaged while the other agents run',
    ],
  },
  ...[
    'if it does not run, start it on its machine: …',
    'start the agents that do not answer, or further ones',
  ].map((says) => ({ says, by: ['test/integration/top.test.ts', 'top on a terminal: '] as const })),
  ...[
    'start each beside the others:',
    'then start this agent again',
    'start the agents named above',
  ].map((says) => ({
    says,
    by: [
      'test/integration/slow/completion-by-hand.test.ts',
      'an agent started by hand names agents with queued URLs',
    ] as const,
  })),
  {
    says: 'agent/core/operator/operator.ts: the crawl is complete: add the URL to the seeds',
    by: ['test/operations/agent-situations.ts', 'a seed is added to a crawl that does not run'],
  },
  {
    says: 'is the last agent that takes hosts; undrain or start another one first',
    by: ['test/integration/slow/drain.test.ts', 'hosts move with capacity, drain and undrain'],
  },
  {
    says: 'all agents in view are drained; bring one back (ubiring undrain CONFIG ID)',
    by: ['test/simulation/slow/capacity.test.ts', 'drain: if all others die, the crawl waits'],
  },
  {
    says: 'tokens.ts: there are more than … tokens; remove some',
    by: ['test/unit/cli/http/tokens.test.ts', 'a wrong line is named without its token'],
  },
  ...[
    'token-source.ts: write "ROLE TOKEN" lines into it, or remove monitor.tokens',
    'token-source.ts: name a file with "ROLE TOKEN" lines that this user may read',
  ].map((says) => ({
    says,
    by: [
      'test/integration/monitor-tokens.test.ts',
      'config check refuses the tokens that a',
    ] as const,
  })),
  {
    says: 'cluster-lists.ts: start it again: ',
    by: ['test/unit/cli/api/cluster-lists.test.ts', 'moves of an agent that does not run say'],
  },
  {
    says: 'cluster-watch.ts: wait, or end them: ',
    by: ['test/unit/cli/views/cluster-watch.test.ts', 'without agents, directives are in force'],
  },
  {
    says: 'directive-commands.ts: the crawl stays complete; to request its pages again',
    by: ['test/integration/completion-by-hand.test.ts', 'agents started by hand record'],
  },
  {
    says: 'control.ts: is the only agent that takes hosts; undrain another one',
    by: ['test/unit/control/control.test.ts', 'an agent does not leave while only agents stay'],
  },
  ...[
    'token-source.ts: let monitor.tokens or MONITOR_TOKENS have the same line',
    'http-access.ts: set the clocks of both machines',
  ].map((says) => ({
    says,
    by: ['test/unit/cli/remote/remote-client.test.ts', 'an unknown token and clocks that'] as const,
  })),
  ...(
    [
      ['cluster-watch.ts: start them: ', 'a launch serves the state'],
      [
        'http-access.ts: use the dashboard, send "Origin:',
        'pages of other sites and rebound names',
      ],
      ['planned-moves.ts: use stop: the state stays', 'a launch serves the state of the cluster'],
      ['and there is no token; name a file with tokens', 'an agent serves what its config says'],
    ] as const
  ).map(([says, title]) => ({
    says,
    by: ['test/integration/http-api.test.ts', title] as const,
  })),
];

/** Remedies that no test follows, and what such a test would need. */
export const untried: readonly (readonly [says: string, needs: string])[] = [
  ['operator.ts: there are … directives, those that have ended', '2,000 directives'],
  ['running.ts: …: an agent starts, ends or does not', 'a question while agents start'],
  ['query-runs.ts: try again in some seconds', 'queries that take long'],
  ['command-run.ts: try again in some seconds', 'commands that take long'],
  ['network-failure.ts: it cannot save its file; free space on its disk', 'a full disk of Redis'],
  ['list-process.ts: try again in some seconds', 'lists that take long'],
  ['list-process.ts: try again in some minutes', 'a list of 30 s'],
  ['…/hosts lists the hosts; if it moves, try again', 'the moment of a handover'],
  ['command-run.ts: run "ubiring …" on the machine of the agent', 'an unexpected failure'],
  ['ask.ts: …; try again in some seconds, or permit more open files', 'no free socket'],
  ['query-runs.ts: add a LIMIT to the query', 'more than 8 MB of rows'],
  ['query-runs.ts: narrow it to some hosts', 'a query of 20 s'],
  ['query-runs.ts: run "ubiring query" on the machine of the agent', 'an unexpected failure'],
  ['the links of all pages anew', 'a graph of pages read before and after archive.links'],
  ['site.ts: ubiring status shows the cluster', 'an agent of another crawl at an endpoint'],
  ['run npm install … @redis/client@6', 'a package registry'],
  ['redis-password.ts: set … or …, not both', 'another environment of the process'],
  ['remote-agents.ts: serves no API there; set', 'two machines'],
  ['remote-agents.ts: …: it does not answer, and its rows may be missing; look', 'two machines'],
  ['query-runs.ts: copy the directories of all agents into one', 'an extract of 60 s'],
  ['…; install the same version of ubiring on all machines', 'two versions of ubiring'],
  ['scratch-directory.ts: cannot write in …: …; name', 'a full disk of its own'],
  ['extract.ts: has schema …, and this ubiring has', 'two versions of ubiring'],
  ['…: stop one of the two', 'two machines with the same agent'],
  ['… runs at …: stop that one, or this one at …', 'two machines with the same agent'],
  ['ring point shared by … and …: rename one', 'two names with the same 64 bits'],
  ['ports.ts: run the command as its owner or as root', 'another user'],
  ['ports.ts: name another with --data', 'a file system that is read-only'],
  ['start-clock.ts: …, but …; if the clock is wrong, set it', 'a clock that is a day behind'],
  ['set the clock that is wrong; state that began', 'two machines with clocks a year apart'],
  [
    'agent/storage/file/storage-failure.ts: cannot read or write in …: …; look at',
    'a failing disk',
  ],
  ['look at the dashboard of its machine', 'a machine whose server answers seldom'],
  ['problems.ts: look at the disk and its permissions, or name', 'a failing disk'],
  ['for lack of memory; give the machine or the container more', 'too little memory'],
  ['problems.ts: lower agent.threads, or give its machine more', 'an overloaded machine'],
  ['has a write-ahead log of …: end the program that reads', 'a log of 256 MiB'],
  ['one long transaction: end that program', 'a log of 256 MiB'],
  ['belongs to this user; run chmod u+rwX …', 'a user other than root'],
  ['repair.ts:   stop all agents, and move … away', 'agents that know only contacts and no copies'],
  ['too many commands at once; try again', 'more concurrent commands than a machine can start'],
  ['too many seeds are pending; try again', 'an owner that accepts no seeds'],
  ['agent/storage/file/reading.ts: has schema …', 'a newer version'],
];

/** Parts of texts that look like a remedy, and why they are none. */
export const noRemedies: readonly (readonly [says: string, why: string])[] = [
  ['list-process.ts: the list was not complete after', 'says how long it is not made again'],
  ['the HTTP server has ended (…), and is started again', 'the agent does this itself'],
  [
    'and the pages of lost records that the state has are queued again',
    'the agent does this itself',
  ],
  ['pages whose records were lost are queued again', 'the agent does this itself'],
  ['; it is started again in …', 'the launch does this itself'],
  ['the crawl is not complete and continues; --refresh needs a complete', 'the crawl continues'],
  ['agent/storage/schema/move-rows.ts: ', 'a list of columns'],
  ['agent/cli/state-files/left-out-text.ts:  --', 'an option of the surrounding command'],
  ['directive-commands.ts:  --refresh', 'an option of the surrounding command'],
  ['agent/cli/common/load-config.ts: … --data …', 'an option of the surrounding command'],
  ['its seeds, limits or scope were others: launch continues it', 'says what launch does'],
  ['agent/cli/query/next-steps.ts: ', 'shows the result'],
  ['status-command.ts:   … and … more (--json)', 'an option that shows all'],
  ['agent/cli/top/top-view.ts: ', 'describes a key, or names the program'],
  ['agent/cli/launch/progress-view.ts: ubiring launch', 'names the program'],
  ['agent/cli/agent/local-agents.ts: --agents', 'describes the values of the option'],
];
