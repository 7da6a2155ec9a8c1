// Tests how the address of the API of an agent on another machine is found.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { agentsElsewhere } from '../../../../agent/cli/remote/remote-agents.ts';

interface More {
  readonly silent?: readonly string[];
  readonly stale?: readonly string[];
  /** Addresses of the agents a0, a1, … in the config. */
  readonly entries?: readonly string[];
  readonly contacts?: readonly string[];
}

/** Agents a0, a1, … with these dashboards and addresses; `a0` is on this machine. */
function elsewhere(
  agents: readonly (readonly [dashboard: string | undefined, address: string])[],
  { silent = [], stale = [], entries = [], contacts = [] }: More = {},
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'ubiring-elsewhere-'));
  try {
    mkdirSync(join(dataDir, 'a0'));
    writeFileSync(join(dataDir, 'a0', 'state.sqlite'), 'any');
    const members = agents.map(([, address], i) => ({ id: `a${i}`, address }));
    const statuses = agents.map(([dashboard], i) => {
      const others = members.filter(({ id }) => id !== `a${i}`);
      return { id: `a${i}`, members: others, ...(dashboard !== undefined && { dashboard }) };
    });
    const config = {
      agent: { dataDir },
      cluster: {
        agents: entries.map((address, i) => ({ id: `a${i}`, listen: address, address })),
        contacts,
      },
      monitor: { listen: null },
    } as unknown as ResolvedConfig;
    return agentsElsewhere({ agents: statuses, silent, stale }, config);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

it('the host of a server is its own, or that of the agent if it listens at every address', () => {
  const { agents, problems } = elsewhere([
    ['http://10.0.0.1:9100/', 'tcp://10.0.0.1:7000'],
    ['http://10.0.0.2:9100/', 'tcp://10.0.0.2:7000'],
    ['http://0.0.0.0:9101/', 'tcp://10.0.0.3:7000'],
    ['http://[::]:9102/', 'tcp://[fd00::4]:7000'],
    ['http://127.0.0.1:9103/', 'tcp://127.0.0.1:7000'],
    ['http://[::1]:9104/', 'tcp://localhost:7000'],
    ['http://[fd00::6]:9100/', 'tcp://[FD00:0::6]:7000'],
  ]);
  assert.deepEqual(agents, [
    { id: 'a1', origin: 'http://10.0.0.2:9100' },
    { id: 'a2', origin: 'http://10.0.0.3:9101' },
    { id: 'a3', origin: 'http://[fd00::4]:9102' },
    { id: 'a4', origin: 'http://127.0.0.1:9103' },
    { id: 'a5', origin: 'http://[::1]:9104' },
    { id: 'a6', origin: 'http://[fd00::6]:9100' },
  ]);
  assert.deepEqual(problems, []);
});

it('no token is sent to a host that neither reaches the agent nor is in the config', () => {
  const { agents, problems } = elsewhere(
    [
      ['http://10.0.0.1:9100/', 'tcp://10.0.0.1:7000'],
      ['http://10.9.0.2:9100/', 'tcp://10.0.0.2:7000'],
      ['http://127.0.0.99:9100/', 'tcp://127.0.0.12:7000'],
      ['http://10.0.0.4@10.9.0.4/', 'tcp://10.0.0.4:7000'],
      ['http://10.9.0.5:9100/', 'tcp://10.0.0.5:7000'],
      ['http://10.0.0.6:9100/', 'tcp://10.9.0.6:7000'],
      ['http://10.9.0.7:9100/', ''],
    ],
    {
      entries: ['10.0.0.1', '10.0.0.2', '127.0.0.12', '10.0.0.4', '10.0.0.5', '10.0.0.6'].map(
        (host) => `tcp://${host}:7000`,
      ),
      contacts: ['tcp://10.9.0.5:7000'],
    },
  );
  assert.deepEqual(agents, [
    { id: 'a4', origin: 'http://10.9.0.5:9100' },
    { id: 'a5', origin: 'http://10.0.0.6:9100' },
  ]);
  const not = (at: string, address: string) =>
    `serves its API at ${at}, not at its address ${address}; change monitor.listen there to`;
  assert.deepEqual(problems, [
    `a1 runs on another machine and ${not('10.9.0.2:9100', '10.0.0.2')} 0.0.0.0:9100`,
    `a2 runs on another machine and ${not('127.0.0.99:9100', '127.0.0.12')} 0.0.0.0:9100`,
    `a3 runs on another machine and ${not('10.9.0.4', '10.0.0.4')} 0.0.0.0:80`,
    'a6 runs on another machine and serves its API at 10.9.0.7:9100; ' +
      'change monitor.listen there to 0.0.0.0:9100',
  ]);
});

it('what an agent says of itself does not make its address', () => {
  const members = [{ id: 'a1', address: 'tcp://10.9.0.9:7000' }];
  const agents = [{ id: 'a1', dashboard: 'http://10.9.0.9:9100/', members }];
  const config = {
    agent: { dataDir: '/nonexistent' },
    cluster: { agents: [], contacts: [] },
    monitor: { listen: null },
  } as unknown as ResolvedConfig;
  assert.deepEqual(agentsElsewhere({ agents, silent: [], stale: [] }, config).agents, []);
});

it('a member that does not answer is named, unless its state is here', (t) => {
  const named = ['a1: it does not answer, and its rows may be missing; look at its machine'];
  const members = ['a0', 'a1'].map((id) => ({ id, address: 'tcp://10.0.0.1:7000' }));
  const dataDir = mkdtempSync(join(tmpdir(), 'ubiring-elsewhere-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  mkdirSync(join(dataDir, 'a0'));
  writeFileSync(join(dataDir, 'a0', 'state.sqlite'), 'any');
  const config = {
    agent: { dataDir },
    cluster: { agents: [], contacts: [] },
    monitor: { listen: null },
  } as unknown as ResolvedConfig;
  const silent = ['a0', 'a1', 'a2'];
  const agents = [{ id: 'a3', members, dashboard: 'http://10.0.0.3:9100/' }];
  assert.deepEqual(
    agentsElsewhere({ agents, silent, stale: [] }, config).problems.filter(
      (said) => !said.startsWith('a3 '),
    ),
    named,
  );
  // Nobody says who is a member.
  const { problems } = agentsElsewhere({ agents: [], silent: ['a0', 'a1'], stale: [] }, config);
  assert.deepEqual(problems, named);
});

it('an agent whose state here is stale is elsewhere', () => {
  const agents = [
    ['http://10.0.0.1:9100/', 'tcp://10.0.0.1:7000'],
    ['http://10.0.0.2:9100/', 'tcp://10.0.0.2:7000'],
  ] as const;
  assert.deepEqual(elsewhere(agents).running, ['a1']);
  const found = elsewhere(agents, { stale: ['a0'] });
  assert.deepEqual(found.running, ['a0', 'a1']);
  assert.deepEqual(found.agents[0], { id: 'a0', origin: 'http://10.0.0.1:9100' });
});

it('an agent that serves no API to this machine is named with the remedy', () => {
  const { agents, problems } = elsewhere([
    ['http://10.0.0.1:9100/', 'tcp://10.0.0.1:7000'],
    [undefined, 'tcp://10.0.0.2:7000'],
    ['http://127.0.0.1:9100/', 'tcp://10.0.0.3:7000'],
    ['file:///etc/passwd', 'tcp://10.0.0.4:7000'],
    ['http://0.0.0.0:9100/', ''],
  ]);
  assert.deepEqual(agents, []);
  assert.equal(problems.length, 4);
  assert.match(problems[0]!, /^a1 .* serves no API there; set monitor\.listen/);
  assert.match(
    problems[1]!,
    /^a2 .* to that machine only; change monitor\.listen 127\.0\.0\.1:9100/,
  );
  assert.match(problems[2]!, /^a3 .* serves no API/);
  assert.match(problems[3]!, /^a4 .* has no known address; change monitor\.listen 0\.0\.0\.0/);
});
