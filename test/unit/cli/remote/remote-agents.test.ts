// Tests how the address of the API of an agent on another machine is found.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { agentsElsewhere } from '../../../../agent/cli/remote/remote-agents.ts';

/** Agents a0, a1, … with these dashboards and addresses; `a0` is on this machine. */
function elsewhere(
  ...agents: readonly (readonly [dashboard: string | undefined, address: string])[]
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
    return agentsElsewhere(statuses, dataDir);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

it('the host of a server is its own, or that of the agent if it listens at every address', () => {
  const { agents, problems } = elsewhere(
    ['http://10.0.0.1:9100/', 'tcp://10.0.0.1:7000'],
    ['http://10.9.0.2:9100/', 'tcp://10.0.0.2:7000'],
    ['http://0.0.0.0:9101/', 'tcp://10.0.0.3:7000'],
    ['http://[::]:9102/', 'tcp://[fd00::4]:7000'],
    ['http://127.0.0.1:9103/', 'tcp://127.0.0.1:7000'],
    ['http://[::1]:9104/', 'tcp://localhost:7000'],
  );
  assert.deepEqual(agents, [
    { id: 'a1', origin: 'http://10.9.0.2:9100' },
    { id: 'a2', origin: 'http://10.0.0.3:9101' },
    { id: 'a3', origin: 'http://[fd00::4]:9102' },
    { id: 'a4', origin: 'http://127.0.0.1:9103' },
    { id: 'a5', origin: 'http://[::1]:9104' },
  ]);
  assert.deepEqual(problems, []);
});

it('an agent that serves no API to this machine is named with the remedy', () => {
  const { agents, problems } = elsewhere(
    ['http://10.0.0.1:9100/', 'tcp://10.0.0.1:7000'],
    [undefined, 'tcp://10.0.0.2:7000'],
    ['http://127.0.0.1:9100/', 'tcp://10.0.0.3:7000'],
    ['file:///etc/passwd', 'tcp://10.0.0.4:7000'],
    ['http://0.0.0.0:9100/', ''],
  );
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
