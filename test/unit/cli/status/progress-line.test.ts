import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgressMeter } from '../../../../agent/cli/status/crawl-progress.ts';
import { progressLine } from '../../../../agent/cli/status/progress-line.ts';
import { agentStatus } from '../agent-status.ts';
import { networksStatus } from '../networks-status.ts';

function lineOf(...parts: readonly Parameters<typeof agentStatus>[0][]): string {
  const reported = parts.map((part) => ({ alive: true, status: agentStatus(part) }));
  return progressLine(new ProgressMeter(true).at(0, reported));
}

test('progress line: shows the time left only if there is an estimate', () => {
  const part = { hosts: 1200, pages: 3, queued: 4 };
  const progress = new ProgressMeter(true).at(0, [{ alive: true, status: agentStatus(part) }]);
  assert.equal(
    progressLine({ ...progress, etaMs: 61_000 }),
    'agents 1/1, hosts 1,200, pages 3 (0.0/s), queue 4, about 1 min 01 s left',
  );
  assert.doesNotMatch(progressLine(progress), /left/);
  assert.match(lineOf({ paused: true }), /, paused, until `ubiring resume CONFIG`$/);
});

test('progress line: says once that the crawl is paused, and names the other problems', () => {
  const problems = ['the crawl is paused', 'a2 does not answer'];
  const lineWith = (paused: boolean) => {
    const progress = new ProgressMeter(true).at(0, [
      { alive: true, status: agentStatus({ paused }) },
    ]);
    return progressLine(progress, problems);
  };
  assert.match(lineWith(true), /, paused, until `ubiring resume CONFIG`; a2 does not answer$/);
  assert.match(lineWith(false), /queue 0; the crawl is paused; a2 does not answer$/);
});

test('progress line: shows the number of hosts that wait for robots.txt, if any do', () => {
  const status = { hosts: 12, hostsWithQueue: 3, queued: 16 };
  assert.doesNotMatch(lineOf(status), /robots/);
  assert.match(
    lineOf(
      { ...status, hostsAwaitingRobots: 2 },
      { ...status, hosts: 1000, hostsAwaitingRobots: 2 },
    ),
    /^agents 2\/2, hosts 1,012 \(4 waiting for robots.txt\), pages/,
  );
});

test('progress line: says why hosts wait for robots.txt, for example without DNS', () => {
  assert.match(
    lineOf({ hostsAwaitingRobots: 2, robotsWaitReason: 'dns' }),
    /2 waiting for robots\.txt: dns, no address for the name/,
  );
});

test('progress line: names the network, and the networks that hold it up', () => {
  const lineWith = (message: string) => {
    const failure = { network: 'rome', message, forMs: 1, quietMs: 1 };
    const networks = networksStatus({ awaited: ['paris', 'rome'], failures: [failure] });
    return lineOf({ hosts: 3, pages: 7, networks });
  };
  assert.equal(
    lineWith('network rome: Redis at [::1]:6379: ECONNREFUSED'),
    'network berlin, agents 1/1, hosts 3, pages 7 (0.0/s), queue 0, ' +
      'complete, waits for paris, rome, Redis of rome: ECONNREFUSED',
  );
  const differs = 'rome runs with dedup.leaseMs 12000, this network with 5000';
  assert.ok(
    lineWith(`network rome: Redis at h:1: ${differs}; write the same`).endsWith(
      `, Redis of rome: ${differs}`,
    ),
  );
});
