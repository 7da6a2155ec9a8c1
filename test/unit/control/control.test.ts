// Commands that agents forward, and the walk of a tool from agent to agent.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ControlParts, ControlRoom, type WalkStep } from '../../../agent/control/control.ts';
import type { MemberCard, Message } from '../../../agent/core/protocol/messages.ts';
import type { ControlAnswer } from '../../../agent/messaging/control-desk.ts';

const cardOf = (id: string): MemberCard => ({ id, inc: 1, capacity: 1, address: `tcp://${id}` });
const SENDER = { address: 'tcp://x', fingerprintHash: 'same' };

const memberOf = (id: string, capacity = 1, leaving = false) => ({
  ...cardOf(id),
  capacity,
  leaving,
});

function roomOf(
  isPartial: boolean,
  members = [memberOf('m')],
  capacity = 1,
  isMember = () => true,
) {
  const sent: { to: string; message: Message; isBrief: boolean }[] = [];
  const did: string[] = [];
  const timers: (() => void)[] = [];
  let requests = 0;
  const parts = {
    id: 'me',
    crawl: 'c',
    whereabouts: {
      ...{ isPartial, fingerprintHash: 'same', me: cardOf('me') },
      get isMember() {
        return isMember();
      },
      members: () => [cardOf('m')],
      contacts: () => [cardOf('k')],
    },
    status: () => ({ capacity, members }),
    directives: () => [],
    seedOf: () => ({ refused: 'no URL' }),
    stop: () => did.push('stop'),
    leave: () => did.push('leave'),
    send: (to: MemberCard, message: Message, isBrief = false) => {
      sent.push({ to: `${to.id} ${to.address}`, message, isBrief });
    },
    forget: (id: string) => did.push(`forget ${id}`),
    after: (_: number, act: () => void) => timers.push(act),
    secret: () => ++requests,
    incarnationMax: () => 100,
  };
  const room = new ControlRoom(parts as unknown as ControlParts);
  const hear = (from: string, message: Message, to = 'me', inc = 1) =>
    room.onMemberMessage({ from: { id: from, inc }, to: { id: to, inc: 1 }, message });
  return { room, sent, did, timers, hear };
}

const STOP = { type: 'CONTROL', request: 7, verb: 'stop', args: [] } as const;

describe('a command of an agent outside the view', () => {
  it('is executed if the agent has the same settings and the view is partial', () => {
    const { hear, did, sent } = roomOf(true);
    hear('x', { ...STOP, sender: SENDER });
    assert.deepEqual(did, ['stop']);
    const [answer] = sent;
    assert.deepEqual([answer?.to, answer?.isBrief], ['x tcp://x', true]);
    assert.deepEqual(answer?.message, {
      ...{ type: 'CONTROL_ACK', request: 7, ok: true },
      result: { result: 'applied', members: [cardOf('m')], contacts: [cardOf('k')] },
    });
  });

  it('is ignored if it is for another agent, or without the digest of the same settings', () => {
    const { hear, did, sent } = roomOf(true);
    hear('x', { ...STOP, sender: SENDER }, 'other');
    hear('x', { ...STOP, sender: { ...SENDER, fingerprintHash: 'other' } });
    hear('x', STOP);
    hear('x', { ...STOP, sender: { ...SENDER, address: 'ipc:///x' } });
    assert.deepEqual([did, sent], [[], []]);
  });

  it('is ignored if the view is full', () => {
    const { hear, did, sent } = roomOf(false);
    hear('x', { ...STOP, sender: SENDER });
    assert.deepEqual([did, sent], [[], []]);
    hear('m', STOP);
    assert.deepEqual(did, ['stop']);
  });
});

it('an agent does not leave while only agents stay that take no hosts', () => {
  const told = (members: ReturnType<typeof memberOf>[], capacity = 1) => {
    const { room, did } = roomOf(false, members, capacity);
    const answers: ControlAnswer[] = [];
    room.onCommand({ verb: 'leave', args: ['me'], crawl: 'c' }, (answer) => {
      answers.push(answer);
    });
    const { me } = answers[0]!.result as { me: string };
    assert.deepEqual(did, me === 'applied' ? ['leave'] : []);
    return me;
  };
  assert.equal(told([memberOf('a'), memberOf('b', 0)]), 'applied');
  const refused = /^is the only agent that takes hosts; undrain another one, or stop all/;
  assert.match(told([memberOf('a', 0), memberOf('b', 0)]), refused);
  assert.match(told([memberOf('a', 0), memberOf('b', 1, true)]), refused);
  // This agent takes none.
  assert.equal(told([memberOf('a', 0)], 0), 'applied');
  // No agent stays.
  assert.equal(told([]), 'applied');
  assert.equal(told([memberOf('b', 1, true)]), 'applied');
});

it('a refused seed is named, whatever its text', () => {
  const { room } = roomOf(false);
  const answers: ControlAnswer[] = [];
  const args = ['__proto__', 'x'];
  room.onCommand({ verb: 'seed', args, crawl: 'c' }, (answer) => answers.push(answer));
  const { result } = JSON.parse(JSON.stringify(answers[0])) as { result: object };
  const refused = { refused: 'no URL' };
  assert.deepEqual(Object.entries(result), [
    ['__proto__', refused],
    ['x', refused],
  ]);
});

it('the answer of a member counts that has a new incarnation meanwhile', () => {
  const { room, hear } = roomOf(false);
  const answers: ControlAnswer[] = [];
  room.onCommand({ verb: 'stop', args: [], crawl: 'c' }, (answer) => answers.push(answer));
  hear('m', { type: 'CONTROL_ACK', request: 1, ok: true, result: 'applied' }, 'me', 2);
  assert.equal(answers.length, 1);
  assert.match(JSON.stringify(answers[0]), /"m":"applied"/);
});

describe('a step of a walk', () => {
  const step = (room: ControlRoom, to: MemberCard[]) => {
    const answers: ControlAnswer[] = [];
    const command = { verb: 'stop', args: [], crawl: 'c', to } as const;
    room.onCommand(command, (answer) => answers.push(answer));
    return answers;
  };

  it('names the agents that the asked agents know, and those that are silent', () => {
    const { room, hear, did, timers } = roomOf(true);
    const answers = step(room, ['m', 'k', 'gone'].map(cardOf));
    const its = { members: [{ ...cardOf('k'), inc: 2 }], contacts: [cardOf('z')] };
    hear('k', { type: 'CONTROL_ACK', request: 2, ok: true, result: { result: 'applied', ...its } });
    hear('m', { type: 'CONTROL_ACK', request: 1, ok: true, result: { result: 'applied' } });
    assert.deepEqual(answers, []);
    for (const act of timers) act();
    // Links to agents outside the view are closed.
    assert.deepEqual(did, ['forget k', 'forget gone']);
    assert.deepEqual(answers, [
      {
        ok: true,
        result: {
          ...{ me: cardOf('me'), silent: ['gone'], results: { k: 'applied', m: 'applied' } },
          members: [cardOf('m'), { ...cardOf('k'), inc: 2 }],
          contacts: [cardOf('k'), cardOf('z')],
        },
      },
    ]);
  });

  it('takes an answer only with the number of the request to its sender', () => {
    const { room, hear } = roomOf(true);
    const answers = step(room, ['m', 'k'].map(cardOf));
    const ack = (request: number, result: unknown) =>
      ({ type: 'CONTROL_ACK', request, ok: true, result }) as const;
    hear('m', ack(2, { result: 'false' }));
    hear('k', ack(1, { result: 'false' }));
    assert.equal(answers.length, 0);
    hear('m', ack(1, { result: 'applied' }));
    hear('k', ack(2, { result: 'applied' }));
    const { results } = answers[0]!.result as WalkStep;
    assert.deepEqual(results, { m: 'applied', k: 'applied' });
  });

  it('ignores what is invalid in an answer', () => {
    const good = cardOf('z');
    const bad = [null, undefined, 7, [good], { ...good, inc: 101 }, { ...good, capacity: -1 }];
    const stepWith = (result: unknown) => {
      const { room, hear } = roomOf(true);
      const answers = step(room, [cardOf('m')]);
      hear('m', { type: 'CONTROL_ACK', request: 1, ok: true, result });
      return answers[0]!.result as WalkStep;
    };
    for (const result of [null, 5, [1], 'x', { members: 'abc', contacts: 5 }]) {
      assert.deepEqual(stepWith(result), { ...stepWith({}), results: { m: null } });
    }
    const { members, contacts } = stepWith({ members: [...bad, good], contacts: bad });
    assert.deepEqual([members, contacts], [[cardOf('m'), good], [cardOf('k')]]);
    const many = Array.from({ length: 3000 }, (_, i) => cardOf(`n${i}`));
    assert.equal(stepWith({ members: many }).members.length, 1025);
  });

  it('reaches a member at its own address, and no socket files', () => {
    const { room, sent } = roomOf(true);
    step(room, [
      { ...cardOf('m'), address: 'tcp://elsewhere' },
      { ...cardOf('k'), address: 'ipc:///k' },
    ]);
    assert.deepEqual(
      sent.map(({ to }) => to),
      ['m tcp://m'],
    );
  });

  it('stops the asked agent only if it is named', () => {
    const { room, did } = roomOf(true);
    assert.equal(step(room, []).length, 1);
    assert.deepEqual(did, []);
    assert.equal(step(room, [cardOf('me')]).length, 1);
    assert.deepEqual(did, ['stop']);
  });
});

describe('a command to an agent that is not a member yet', () => {
  const ask = (isMember: () => boolean, verb: 'stop' | 'status' | 'seed', args: string[] = []) => {
    const one = roomOf(false, [], 1, isMember);
    const answers: unknown[] = [];
    one.room.onCommand({ verb, args, crawl: 'c' } as never, (answer) => answers.push(answer));
    return { ...one, answers };
  };

  it('is executed once the agent has joined, so that all members are told', () => {
    let isMember = false;
    const { sent, timers, did } = ask(() => isMember, 'stop');
    timers.shift()!();
    assert.deepEqual([sent, did, timers.length], [[], [], 1]);
    isMember = true;
    timers.shift()!();
    assert.deepEqual(
      sent.map(({ to }) => to),
      ['m tcp://m'],
    );
  });

  it('is executed after some time even if the agent does not join', () => {
    const { sent, timers } = ask(() => false, 'stop');
    let waits = 0;
    for (; sent.length === 0 && waits < 100; waits++) timers.shift()!();
    assert.deepEqual([sent.length, waits], [1, 15]);
  });

  it('is answered at once if it asks for the status, which says that the agent has not joined', () => {
    const { sent } = ask(() => false, 'status');
    assert.equal(sent.length, 1);
  });

  it('is answered at once if it gives a seed, which has its own time to reach its owner', () => {
    assert.equal(ask(() => false, 'seed', ['x']).answers.length, 1);
  });
});
