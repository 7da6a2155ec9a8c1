import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printConfig } from '../../../../config/printed-config.ts';
import { bad, good, onlyProblem, plain, warningsOf } from '../written-config.ts';

function agents(...entries: string[]): string {
  return `${plain}cluster:\n  agents:\n${entries.map((entry) => `    - { ${entry} }\n`).join('')}`;
}

test('rules: two agents may not have the same identifier, even in different case', () => {
  for (const twin of ['a1', 'A1']) {
    const text = agents('id: a1, listen: "tcp://h:1"', `id: ${twin}, listen: "tcp://h:2"`);
    const problem = onlyProblem(text);
    assert.deepEqual([problem.path, problem.line], ['cluster.agents[1].id', 6]);
    assert.match(problem.message, /cluster\.agents\[0\]/);
  }
  const accents = agents(
    'id: "\\u00e9", listen: "tcp://h:1"',
    'id: "e\\u0301", listen: "tcp://h:2"',
  );
  assert.equal(onlyProblem(accents).path, 'cluster.agents[1].id');
});

test('rules: two agents may not listen at the same endpoint', () => {
  const problem = onlyProblem(
    agents('id: a, listen: "tcp://127.0.0.1:7101"', 'id: b, listen: "tcp://localhost:7101"'),
  );
  assert.deepEqual([problem.path, problem.line], ['cluster.agents[1].listen', 6]);
});

test('rules: agents of two machines may both listen on every interface', () => {
  good(
    agents(
      'id: a, listen: "tcp://0.0.0.0:7101", address: "tcp://10.0.0.1:7101"',
      'id: b, listen: "tcp://0.0.0.0:7101", address: "tcp://10.0.0.2:7101"',
    ),
  );
});

test('rules: two agents may not have the same address', () => {
  const problem = onlyProblem(
    agents(
      'id: a, listen: "tcp://0.0.0.0:7101", address: "tcp://10.0.0.1:7101"',
      'id: b, listen: "tcp://0.0.0.0:7102", address: "tcp://10.0.0.1:7101"',
    ),
  );
  assert.equal(problem.path, 'cluster.agents[1].address');
});

for (const host of ['0.0.0.0', '*', '[::]']) {
  test(`rules: an agent that listens on ${host} needs an address that is no wildcard`, () => {
    const problem = onlyProblem(agents(`id: a, listen: "tcp://${host}:7101"`));
    assert.equal(problem.path, 'cluster.agents[0].listen');
    assert.match(problem.remedy, /address: tcp:/);
    const again = onlyProblem(
      agents(`id: a, listen: "tcp://${host}:7101", address: "tcp://${host}:7101"`),
    );
    assert.equal(again.path, 'cluster.agents[0].address');
    assert.match(again.message, /wildcard/);
  });
}

test('rules: three heartbeats must fit into suspectAfterMs', () => {
  const detector = (heartbeatMs: number, suspectAfterMs: number) =>
    `${plain}cluster:\n  failureDetector: { heartbeatMs: ${heartbeatMs}, suspectAfterMs: ${suspectAfterMs} }\n`;
  good(detector(1000, 3000));
  const problem = onlyProblem(detector(1000, 2999));
  assert.equal(problem.path, 'cluster.failureDetector.suspectAfterMs');
  assert.equal(problem.line, 4);
  assert.match(problem.remedy, /3000/);
});

test('rules: with ipDelayMs five heartbeats must fit into suspectAfterMs', () => {
  const text = (heartbeatMs: number, ipDelayMs: number) =>
    `${plain}politeness: { ipDelayMs: ${ipDelayMs} }\ncluster:\n` +
    `  failureDetector: { heartbeatMs: ${heartbeatMs}, suspectAfterMs: 5000 }\n`;
  good(text(1001, 0));
  good(text(1000, 500));
  assert.match(onlyProblem(text(1001, 500)).remedy, /5005/);
  assert.match(onlyProblem(text(1700, 500)).remedy, /5100/);
});

test('rules: a rule reports nothing if one of its own keys is invalid', () => {
  // The default of 10 s would break the rule, but it only replaces the invalid value.
  const problem = onlyProblem(
    `${plain}cluster: { failureDetector: { heartbeatMs: 5s, suspectAfterMs: 20sec } }\n`,
  );
  assert.equal(problem.path, 'cluster.failureDetector.suspectAfterMs');
  assert.equal(problem.code, 'config-bad-value');
});

test('rules: refuses agents that share a point of the ring, and names both', () => {
  const sha256 = () => new Uint8Array(32);
  const text = agents('id: north, listen: "tcp://h:1"', 'id: south, listen: "tcp://h:2"');
  const problem = onlyProblem(text, { sha256 });
  assert.deepEqual([problem.path, problem.line], ['cluster.agents[1].id', 6]);
  assert.match(problem.message, /"north" and "south"/);
  assert.match(problem.remedy, /another identifier/);
  assert.equal(onlyProblem(`${plain}cluster: { agents: 2 }\n`, { sha256 }).path, 'cluster.agents');
  good(text);
});

test('rules: refuses a ring of more than a million points', () => {
  const entry = 'id: a, listen: "tcp://h:1", capacity: 1000';
  const problem = onlyProblem(`${agents(entry)}  replicas: 1001\n`);
  assert.equal(problem.path, 'cluster.replicas');
  assert.match(problem.message, /1001000 points/);
});

const kademlia = (more = '', rest = '') =>
  `${plain}cluster: { overlay: kademlia, agents: 4${more} }\n${rest}`;

test('rules: a neighbourhood has at least three agents more than there are backups', () => {
  assert.deepEqual(warningsOf(kademlia()), []);
  good(kademlia(', backups: 2'));
  good(kademlia(', backups: 0, kademlia: { neighbourhood: 3 }'));
  good(kademlia(', backups: 3').replace('kademlia,', 'ring,'));
  const problem = onlyProblem(kademlia(', backups: 3, kademlia: { neighbourhood: 5 }'));
  assert.equal(problem.path, 'cluster.kademlia.neighbourhood');
  assert.match(problem.message, /5 is less than cluster\.backups \+ 3, which is 6/);
  assert.match(problem.remedy, /raise neighbourhood to 6/);
  const byDefault = onlyProblem(
    `${plain}cluster:\n  overlay: kademlia\n  agents: 4\n  backups: 3\n`,
  );
  assert.deepEqual([byDefault.path, byDefault.line], ['cluster.backups', 6]);
  assert.match(byDefault.message, /^3 backups need cluster\.kademlia\.neighbourhood 6 or more/);
  good(kademlia(', backups: 3, kademlia: { neighbourhood: 6 }'));
  assert.match(byDefault.remedy, /add "kademlia: \{ neighbourhood: 6 \}"/);
});

test('rules: warns of parameters of the other overlay', () => {
  const parameters = ', kademlia: { ids: 8 }, replicas: 100';
  const [inRing, inKademlia] = [
    kademlia(parameters).replace('kademlia,', 'ring,'),
    kademlia(parameters),
  ];
  const said = (text: string) => warningsOf(text).map((one) => / (cluster\..*?;)/.exec(one)?.[1]);
  assert.deepEqual(said(inRing), ['cluster.kademlia: has no effect with cluster.overlay: ring;']);
  assert.deepEqual(said(inKademlia), [
    'cluster.replicas: has no effect with cluster.overlay: kademlia;',
  ]);
  assert.deepEqual(warningsOf(kademlia(', kademlia: { ids: 4 }, replicas: 200')), []);
});

test('rules: the overlay kademlia needs agents or contacts', () => {
  const problem = onlyProblem(`${plain}cluster: { overlay: kademlia }\n`);
  assert.deepEqual([problem.path, problem.message], ['cluster.agents', 'names no agent']);
  good(`${plain}cluster: { overlay: kademlia, agents: 1 }\n`);
  good(`${plain}cluster: { overlay: kademlia, contacts: ["tcp://h:1"] }\n`);
});

test('rules: a text in place of a list is one problem', () => {
  const problem = onlyProblem(
    `${plain}cluster: { overlay: kademlia, contacts: "tcp://h:123456789" }\n`,
  );
  assert.match(problem.message, /^must be a list, not/);
});

for (const [path, why, text] of [
  ['cluster.quorum', /needs the list of all agents/, kademlia(', quorum: majority')],
] as const) {
  test(`rules: with the overlay kademlia, ${path} is refused with the reason`, () => {
    const problem = onlyProblem(text);
    assert.equal(problem.path, path);
    assert.match(problem.message, why);
    assert.match(problem.remedy, /overlay: ring/);
    good(text.replace('overlay: kademlia', 'overlay: ring'));
  });
}

const contacts = 'contacts: ["tcp://10.0.0.5:7101"]';

test('rules: a config with contacts need not list the agents', () => {
  const text = (overlay: string) => `${plain}cluster: { overlay: ${overlay}, ${contacts} }\n`;
  const config = good(text('kademlia'));
  assert.deepEqual(config.cluster.agents, []);
  assert.deepEqual(good(printConfig(config)).cluster, config.cluster);
  assert.equal(good(kademlia(`, ${contacts}`)).cluster.agents, 4, 'a number of agents is kept');
  const problem = onlyProblem(text('ring'));
  assert.equal(problem.path, 'cluster.contacts');
  assert.match(problem.message, /need cluster\.overlay: kademlia/);
});

test('rules: numbered agents cannot be contacts', () => {
  const [warning = '', ...more] = warningsOf(kademlia(`, ${contacts}`));
  assert.match(
    warning,
    /cluster\.agents: get free ports, .*; list the agents with their endpoints/,
  );
  assert.deepEqual(more, []);
  const listed = `${agents('id: a, listen: "tcp://h:1"')}  overlay: kademlia\n  ${contacts}\n`;
  assert.deepEqual(warningsOf(listed), []);
  assert.deepEqual(warningsOf(`${plain}cluster: { overlay: kademlia, ${contacts} }\n`), []);
});

test('rules: a config without agents is told about contacts', () => {
  const problem = onlyProblem(`${plain}cluster: { overlay: kademlia, agents: [] }\n`);
  assert.equal(problem.path, 'cluster.agents');
  assert.match(problem.remedy, /or add cluster\.contacts/);
});

test('rules: limits the identifiers of an agent and of the cluster', () => {
  const of = (capacity: number, count: number, ids: number) => {
    const entries = Array.from({ length: count }, (_, k) => {
      return `id: a${k}, listen: "tcp://h:${k + 1}", capacity: ${capacity}`;
    });
    return `${agents(...entries)}  overlay: kademlia\n  kademlia: { ids: ${ids} }\n`;
  };
  good(of(1000, 1, 8));
  const large = onlyProblem(of(1000, 1, 9));
  assert.equal(large.path, 'cluster.kademlia.ids');
  assert.match(large.message, /an agent would have 9000 identifiers/);
  assert.match(onlyProblem(of(1000, 13, 8)).message, /the agents would have 104000 identifiers/);
});

test('rules: agents of the overlay kademlia have no ring points', () => {
  const sha256 = () => new Uint8Array(32);
  assert.equal(onlyProblem(`${plain}cluster: { agents: 2 }\n`, { sha256 }).path, 'cluster.agents');
  good(kademlia(), { sha256 });
});

test('rules: warns if more backups are configured than there are other agents', () => {
  assert.deepEqual(warningsOf(plain), []);
  const asked = warningsOf(`${plain}cluster: { agents: 2, backups: 2 }\n`);
  assert.match(asked[0]!, /cluster\.backups: 2 backups need 3 agents/);
  const enough = warningsOf(`${plain}cluster: { agents: 3, backups: 2 }\n`);
  assert.deepEqual(enough, []);
  assert.deepEqual(warningsOf(`${plain}cluster: { agents: 3, backups: 0 }\n`), []);
});

test('rules: warns of a majority of two agents', () => {
  assert.equal(warningsOf(`${plain}cluster: { agents: 2, quorum: majority }\n`).length, 1);
  assert.deepEqual(warningsOf(`${plain}cluster: { agents: 3, quorum: majority }\n`), []);
});

test('rules: warns of a delay per address if a proxy hides the addresses', () => {
  const delayed = `${plain}politeness: { ipDelayMs: 500ms }\n`;
  assert.deepEqual(warningsOf(delayed), []);
  const hidden = delayed.replace('http: {', 'http: { proxy: "http://127.0.0.1:3128",');
  const [warning, ...more] = warningsOf(hidden);
  assert.match(warning ?? '', /politeness\.ipDelayMs: has no effect through http\.proxy/);
  assert.deepEqual(more, []);
});

test('rules: reports the problems of all agents', () => {
  const paths = bad(
    agents(
      'id: a, listen: "tcp://h:1", capacity: nine',
      'id: a, listen: "tcp://*:1"',
      'id: c, listen: "tcp://h:1"',
    ),
  ).map((problem) => problem.path);
  assert.deepEqual(paths, [
    'cluster.agents[0].capacity',
    'cluster.agents[1].id',
    'cluster.agents[1].listen',
    'cluster.agents[2].listen',
  ]);
});

test('rules: warns of seeds that scope.exclude leaves out', () => {
  const warnings = (exclude: string) => warningsOf(`${plain}scope: { exclude: ['${exclude}'] }\n`);
  assert.ok(warnings('example').some((text) => text.includes('scope.exclude')));
  assert.ok(!warnings('/nowhere/').some((text) => text.includes('scope.exclude')));
});
