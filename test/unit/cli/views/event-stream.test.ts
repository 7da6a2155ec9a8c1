import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type AgentEvents, EVENTS_MAX } from '../../../../agent/cli/views/agent-events.ts';
import { type EventSource, EventStream } from '../../../../agent/cli/views/event-stream.ts';

type Event = AgentEvents['events'][number];

const eventOf = (number: number): Event => {
  return { number, at: number, kind: 'trap', detail: `{"host":"h${number}"}` };
};

/** One agent whose events the test adds, and clients that keep what they are sent. */
function stageOf(
  t: TestContext,
  events: Event[],
  marks = [''],
  now: () => EventSource['now'] = () => undefined,
  agent = 'a1',
) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let reads = 0;
  const read = async (after: number | null): Promise<AgentEvents> => {
    reads++;
    const last = events.at(-1)?.number ?? 0;
    const from = after ?? last;
    const found = events.filter(({ number }) => number > from).slice(0, EVENTS_MAX);
    return { last, mark: marks.at(-1)!, events: found };
  };
  const stream = new EventStream(async () => [{ agent, now: now(), read }]);
  return {
    /** @returns the events that the client has been sent, in order */
    add(lastId: string, ids: string[] = []): () => number[] {
      const written: string[] = [];
      const response = Object.assign(new EventEmitter(), {
        ...{ writableLength: 0, writeHead: () => {}, destroy: () => {} },
        write: (text: string) => {
          written.push(text);
          ids.push(...(/^id: (.*)$/m.exec(text)?.slice(1) ?? []));
        },
      });
      stream.add(response as unknown as ServerResponse, lastId);
      return () => written.flatMap((text) => /"at":(\d+)/.exec(text)?.[1] ?? []).map(Number);
    },
    /** @returns the reads of the agent meanwhile */
    async poll(): Promise<number> {
      const before = reads;
      t.mock.timers.tick(1000);
      for (let k = 0; k < 20; k++) await turn();
      return reads - before;
    },
  };
}

const history = (n: number) => Array.from({ length: n }, (_, k) => eventOf(k + 1));

test('event stream: a client that begins at the first event delays no other', async (t) => {
  const events = history(20 * EVENTS_MAX);
  const end = events.length;
  const { add, poll } = stageOf(t, events);
  const early = add('a1.0');
  const live = add(`a1.${end}`);
  await poll();
  events.push(eventOf(end + 1));
  await poll();
  assert.deepEqual(live(), [end + 1]);
  for (let k = 0; k < 25; k++) await poll();
  assert.deepEqual(
    early(),
    events.map(({ number }) => number),
  );
});

test('event stream: an identifier of an event is ASCII, also if those of agents are not', async (t) => {
  const agent = '𠀀'.repeat(32);
  const events = history(3);
  const { add, poll } = stageOf(t, events, ['m1'], undefined, agent);
  const ids: string[] = [];
  add(`${agent}.0@m1`, ids);
  await poll();
  assert.equal(ids.length, 3);
  for (const id of ids) assert.match(id, /^[!-~]+$/);
  const again = add(ids[1]!);
  await poll();
  assert.deepEqual(again(), [3]);
  assert.throws(() => add('%FF.1'), /is not a part of the identifier/);
});

test('event stream: clients far behind take turns, and each poll reads little', async (t) => {
  const events = history(20 * EVENTS_MAX);
  const { add, poll } = stageOf(t, events);
  const live = add(`a1.${events.length}`);
  await poll();
  const early = Array.from({ length: 30 }, (_, k) => add(`a1.${k}`));
  for (let k = 0; k < 10; k++) assert.ok((await poll()) <= 6);
  for (const [k, sent] of early.entries()) {
    const numbers = sent();
    assert.ok(numbers.length >= EVENTS_MAX, `client ${k} has had a turn`);
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => k + 1 + i),
    );
  }
  assert.deepEqual(live(), []);
});

test('event stream: a client gets all events of a state that replaces the one it has', async (t) => {
  const events = history(4);
  const marks = ['m1'];
  const { add, poll } = stageOf(t, events, marks);
  const ids: string[] = [];
  const connected = add('a1.2@m1', ids);
  await poll();
  assert.deepEqual(
    [connected(), ids],
    [
      [3, 4],
      ['a1.3@m1', 'a1.4@m1'],
    ],
  );
  // The new state soon has more events than the old one.
  events.splice(0, 4, ...history(6));
  marks.push('m2');
  const returned = add(ids.at(-1)!);
  const earlier = add('a1.4');
  const current = add('a1.4@m2');
  for (let k = 0; k < 2; k++) await poll();
  assert.deepEqual(connected(), [3, 4, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(returned(), [1, 2, 3, 4, 5, 6]);
  for (const sent of [earlier, current]) assert.deepEqual(sent(), [5, 6]);
  // It has fewer events than the client.
  events.splice(0, 6, eventOf(1));
  marks.push('m3');
  for (let k = 0; k < 2; k++) await poll();
  for (const sent of [earlier, current]) assert.deepEqual(sent(), [5, 6, 1]);
});

test('event stream: an event that cannot be made a text is left out', async (t) => {
  const odd = { ...eventOf(2), detail: '{"host":{"toString":1}}' };
  const { add, poll } = stageOf(t, [eventOf(1), odd, eventOf(3)]);
  const sent = add('a1.0');
  await poll();
  assert.deepEqual(sent(), [1, 3]);
});

test('event stream: each poll reads an agent once, and an agent that is slow delays no other', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const reads = { slow: 0, broken: 0, silent: 0 };
  const read = {
    slow: () => new Promise<never>(() => reads.slow++),
    broken: async () => {
      reads.broken++;
      throw new Error('busy');
    },
    silent: async () => {
      reads.silent++;
      return null;
    },
  };
  let polls = 0;
  const stream = new EventStream(async () => {
    polls++;
    return (['slow', 'broken', 'silent'] as const).map((agent) => ({ agent, read: read[agent] }));
  });
  const response = Object.assign(new EventEmitter(), {
    ...{ writableLength: 0, writeHead: () => {}, destroy: () => {}, write: () => {} },
  });
  stream.add(response as unknown as ServerResponse, '');
  stream.add(response as unknown as ServerResponse, 'silent.0');
  for (let k = 0; k < 5; k++) {
    t.mock.timers.tick(1000);
    for (let n = 0; n < 20; n++) await turn();
  }
  assert.ok(polls >= 5);
  assert.deepEqual(reads, { slow: 1, broken: polls, silent: polls });
});

test('event stream: refuses an identifier that is none, since it would send all events again', (t) => {
  const { add } = stageOf(t, history(3));
  for (const id of ['x', 'a1', 'a1.2,', 'a1.2@longer']) {
    assert.throws(() => add(id), /is not a part of the identifier of an event/, id);
  }
  add('');
  add('a1.2@mark,a2.1');
});

test('event stream: an agent is read only if a client lacks its last event', async (t) => {
  const events = history(3);
  const now = { last: 3, incarnation: 1 };
  const marks = ['old'];
  const { add, poll } = stageOf(t, events, marks, () => ({ ...now }));
  const one = add('a1.3@old');
  assert.equal(await poll(), 1, 'the mark may differ');
  assert.equal(await poll(), 0);
  add('a1.1@old');
  assert.ok((await poll()) > 0);
  assert.equal(await poll(), 0);
  events.push(eventOf(4));
  now.last = 4;
  assert.equal(await poll(), 1);
  assert.deepEqual(one(), [4]);
  assert.equal(await poll(), 0);
});

test('event stream: a state with as many events as the one that it replaces is sent', async (t) => {
  const now = { last: 3, incarnation: 1 };
  const marks = ['old'];
  const { add, poll } = stageOf(t, history(3), marks, () => ({ ...now }));
  const one = add('a1.3@old');
  await poll();
  assert.deepEqual(one(), []);
  marks.push('new');
  now.incarnation = 2;
  for (let k = 0; k < 2; k++) await poll();
  assert.deepEqual(one(), [1, 2, 3]);
  assert.equal(await poll(), 0);
});
