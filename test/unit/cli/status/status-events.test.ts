import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventText, recentLines } from '../../../../agent/cli/status/status-events.ts';

test('status: shows an event that several agents saw on one line, with age and duration', () => {
  const suspect = { kind: 'suspect', detail: { agent: 'a2', silentMs: 5019 } } as const;
  const takeover = { kind: 'takeover', ageMs: 11_800, detail: { from: 'a2', hosts: 4 } } as const;
  const lines = recentLines([
    { id: 'a3', recent: [{ ...suspect, ageMs: 12_000 }] },
    {
      id: 'a1',
      recent: [
        { ...suspect, ageMs: 12_200 },
        { ...takeover, detail: { ...takeover.detail, tookMs: 5120 } },
      ],
    },
  ]);
  assert.deepEqual(lines, [
    '  12 s ago  a1, a3  removed a2 after 5 s without news',
    '  12 s ago  a1      took over 4 hosts of a2, 5.1 s after its last news',
  ]);
});

test('status: shows a repeated event twice, and only the last eight events', () => {
  const met = (ageMs: number) => ({ kind: 'join', ageMs, detail: { agent: 'a2' } }) as const;
  const lines = recentLines([{ id: 'a1', recent: [met(90_000), met(60_000)] }]);
  assert.deepEqual(lines, ['  90 s ago  a1  met a2', '  60 s ago  a1  met a2']);
  const many = Array.from({ length: 30 }, (_, k) => met(1_000_000 - k * 20_000));
  assert.equal(recentLines([{ id: 'a1', recent: many }]).length, 8);
});

test('status: says that rows were handed over, since copies count too', () => {
  const handoff = { kind: 'handoff', detail: { to: 'a3', hosts: 14, tookMs: 1267 } } as const;
  assert.equal(
    eventText('a1', handoff),
    'handed its rows of 14 hosts, copies included, over to a3 in 1.3 s',
  );
});

test('status: counts aborted requests, with the reason', () => {
  const aborted = (requests: number) => {
    const detail = { requests, why: 'the lease lapsed', hosts: ['a.example'] };
    return { kind: 'abort', ageMs: 2000, detail } as const;
  };
  const [one, more] = recentLines([{ id: 'a1', recent: [aborted(1), aborted(3)] }]);
  assert.equal(
    one,
    '  2.0 s ago  a1  aborted 1 open request: the lease lapsed (echoes were late); they are repeated',
  );
  assert.equal(
    more,
    '  2.0 s ago  a1  aborted 3 open requests: the lease lapsed (echoes were late); they are repeated',
  );
});

test('status: takeovers of several agents are listed one by one, since their counts add up', () => {
  const event = {
    kind: 'takeover',
    ageMs: 900,
    detail: { from: 'a3', hosts: 2, tookMs: 5000 },
  } as const;
  const lines = recentLines(['a1', 'a2'].map((id) => ({ id, recent: [event] })));
  assert.deepEqual(
    lines.map((line) => line.split(/ {2,}/).at(-2)),
    ['a1', 'a2'],
  );
});

test('status: says why another agent lost its hosts', () => {
  const said = (detail: object) => {
    const from = { from: 'a2', ...detail };
    return ['hosts', 'firstRequestMs'].map((key) =>
      eventText('a1', { kind: 'takeover', detail: { ...from, [key]: 3000, tookMs: 3000 } }),
    );
  };
  assert.deepEqual(said({ why: 'leave' }), [
    'took over 3,000 hosts of a2, which leaves',
    'first request at a host of a2, which leaves',
  ]);
  assert.match(said({ why: 'remove' })[0]!, /, which rejoins$/);
  assert.match(said({ why: 'part' })[0]!, /, no neighbour any more$/);
  for (const detail of [{}, { why: 'suspect' }])
    assert.match(said(detail)[0]!, /, 3\.0 s after its last news$/);
});

test('status: shows that the Redis of a network fails, and for how long it did', () => {
  const why = 'network paris: Redis at 127.0.0.1:6380: ECONNREFUSED';
  const began = { kind: 'network', ageMs: 20_000, detail: { network: 'paris', why } } as const;
  const ended = { ...began, ageMs: 2000, detail: { network: 'paris', tookMs: 12_300 } };
  assert.deepEqual(recentLines([{ id: 'a1', recent: [began, ended] }]), [
    `   20 s ago  a1  ${why}`,
    '  2.0 s ago  a1  network paris: its Redis failed for 12 s',
  ]);
});

test('status: says what a directive sets, and that it was revoked', () => {
  const said = (order: string, value: number | null, host?: string) =>
    eventText('a1', { kind: 'order', detail: { order, host, value, by: 'a2' } });
  assert.deepEqual(
    [
      said('pause', 1),
      said('pause', null),
      said('block', 1, '*'),
      said('block', null, 'a.example'),
    ],
    ['paused', 'resumed', 'blocked *', 'unblocked a.example'],
  );
  assert.equal(said('delay', 900, 'a.example'), 'uses a delay of 900 ms for a.example');
  assert.equal(said('delay', null, 'a.example'), 'uses the configured delay for a.example');
  assert.deepEqual(
    [said('drain', 1, 'a3'), said('drain', null, 'a3')],
    ['drains a3', 'ended the drain of a3'],
  );
  assert.equal(said('capacity', 2, 'a3'), 'uses the capacity 2 for a3');
  assert.equal(said('threads', 8, '*'), 'uses 8 threads for all agents');
  assert.equal(said('threads', null, 'a3'), 'uses the configured threads for a3');
  assert.equal(said('refresh', 1_790_000_000), 'began round 1790000000');
});

test('status: says why an agent joins again, in a sentence that fits the reason', () => {
  const text = (why: string) => eventText('a1', { kind: 'rejoin', detail: { why } });
  assert.equal(text('stalled'), 'was stalled: rejoins');
  assert.equal(text('capacity'), 'rejoins with its new capacity');
});
