import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusText } from '../../../../agent/cli/status/status-command.ts';
import { networksText } from '../../../../agent/cli/status/status-networks.ts';
import { agentStatus } from '../agent-status.ts';
import { networksStatus } from '../networks-status.ts';

const submitter = {
  ...{ frames: 1300, verdicts: 1234, latencyMs: 1234 * 56, partial: 7, elsewhere: 98_765 },
  ...{ urls: 432, errors: 0 },
};
const leases = { held: 12, waiting: 3, lost: 0, errors: 0 };
const without =
  'which may fetch them, too; hosts whose lease it grants wait for two leases, then are visited without';
const failed = (network: string, forMs: number) => {
  return {
    network,
    forMs,
    quietMs: 1,
    message: `network ${network}: Redis at 127.0.0.1:6380: ECONNREFUSED`,
  };
};

test('status: a network shows its centre, and a row of counts for each agent', () => {
  const reporter = { unreported: 5, isFilling: false, errors: 0 };
  const a1 = networksStatus({ submitter, leases, reporter });
  const filling = { ...reporter, isFilling: true };
  const a2 = networksStatus({ centre: {}, reporter: filling });
  const agents = [agentStatus({ networks: a1 }), agentStatus({ id: 'a2', networks: a2 })];
  const text = networksText(agents)!;
  assert.deepEqual(
    text.split('\n').map((line) => line.trim().split(/\s{2,}/)),
    [
      ['network berlin; centre: a2'],
      ['agent', 'verdicts', 'partial', 'elsewhere', 'latency', 'waiting', 'leases', 'reports'],
      ['a1', '1,234', '7', '98,765', '56 ms', '432', '12/15', '5'],
      ['a2', '0', '0', '0', '-', '0', '0/0', 'filling'],
    ],
  );
  const ended = agentStatus({ networks: networksStatus({ awaited: ['rome', 'paris'] }) });
  assert.match(networksText([...agents, ended])!, /\ncomplete; waits for paris, rome$/);
  for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
  assert.ok(statusText({ agents, unreachable: [] }).includes(text));
});

test('status: a Redis that does not answer is named once, with the longest failure', () => {
  const a1 = networksStatus({ failures: [failed('paris', 2000), failed('rome', 1000)] });
  const a2 = networksStatus({ failures: [failed('paris', 63_000)] });
  const text = networksText([
    { id: 'a1', networks: a1 },
    { id: 'a2', networks: a2 },
  ])!;
  assert.match(text, /centre: none of these agents/);
  assert.deepEqual(text.split('\n').slice(4), [
    'network paris: Redis at 127.0.0.1:6380: ECONNREFUSED (for 1 min 03 s: a1, a2)',
    `  meanwhile: URLs are decided without this network, ${without}`,
    '  remedy: look at that Redis and the way to it, or correct its URL in dedup.networks',
    'network rome: Redis at 127.0.0.1:6380: ECONNREFUSED (for 1 s: a1)',
    `  meanwhile: URLs are decided without this network, ${without}`,
    '  remedy: look at that Redis and the way to it, or correct its URL in dedup.networks',
  ]);
});

test('status: a Redis that may be back shows how long ago its last error was', () => {
  const linesOf = (...quietMs: readonly number[]) => {
    const agents = quietMs.map((ms, i) => {
      const failures = [{ ...failed('paris', 9000), quietMs: ms }];
      return { id: `a${i + 1}`, networks: networksStatus({ failures }) };
    });
    return networksText(agents)!;
  };
  assert.match(linesOf(4000, 6000), /ECONNREFUSED \(for 9 s, last 4 s ago: a1, a2\)\n/);
  assert.match(linesOf(4000, 10), /ECONNREFUSED \(for 9 s: a1, a2\)\n/);
});

test('status: an agent without its own Redis says so, what it does meanwhile, and the remedy', () => {
  const reporter = { unreported: 0, isFilling: true, errors: 9 };
  const full = { ...failed('berlin', 5000), message: 'network berlin: full; raise maxmemory' };
  const linesOf = (onTimeout: 'proceed' | 'wait') => {
    const networks = networksStatus({ reporter, failures: [full], onTimeout });
    return networksText([{ id: 'a1', networks }])!
      .split('\n')
      .slice(2);
  };
  const [row, ...lines] = linesOf('proceed');
  assert.match(row!, /^a1 .* {2}no Redis$/);
  assert.equal(lines[0], 'network berlin: full (for 5 s: a1)');
  assert.match(lines[1]!, /^ {2}meanwhile: URLs are fetched without verdict, /);
  assert.equal(lines[2], '  remedy: raise maxmemory');
  assert.match(linesOf('wait')[2]!, /^ {2}meanwhile: URLs wait for their verdict, /);
});

test('status: what has become wrong with the settings of a Redis is named once', () => {
  const networks = networksStatus({ warnings: ['network rome: evicts'] });
  const text = networksText(['a1', 'a2'].map((id) => ({ id, networks })))!;
  assert.deepEqual(text.split('\n').slice(4), ['network rome: evicts']);
});

test('status: a network without centre is named', () => {
  const a1 = networksStatus({ centre: {}, absent: [{ network: 'paris', forMs: 63_000 }] });
  const text = networksText([{ id: 'a1', networks: a1 }])!;
  assert.match(text, /\nnetwork paris has not run for 1 min 03 s, as far as is known$/);
});

test('status: a crawl that is not shared has no block of networks', () => {
  assert.equal(networksText([agentStatus({})]), null);
});
