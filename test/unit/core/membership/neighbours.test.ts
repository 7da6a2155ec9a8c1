// How the messages of an overlay reach other agents, and which members are not watched any more.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UnplacedHosts } from '../../../../agent/core/hand-off/unplaced-hosts.ts';
import { Neighbours } from '../../../../agent/core/membership/neighbours.ts';
import type { Overlay, OverlayWork, Tree } from '../../../../agent/core/membership/overlay.ts';
import type { MemberCard, Message } from '../../../../agent/core/protocol/messages.ts';
import type { OverlayMessage } from '../../../../agent/core/protocol/overlay-messages.ts';
import { NOW, partialView, viewStage } from './overlay-stage.ts';

const NO_WORK: OverlayWork = { isMoved: false, greet: [], asks: [], pings: [], located: [] };
const PING = { type: 'PING', address: 'tcp://x' } as unknown as OverlayMessage & Message;
const ASK = { type: 'REGION_ASK', key: '', length: 0 } as const;
const IDLE = { type: 'TREE_ASK', key: '', length: 0, wave: '' } as const;

interface More {
  readonly lists?: string[];
  readonly debtors?: string[];
  readonly leavers?: string[];
  readonly unplaced?: UnplacedHosts;
}

function stageOf(overlay: Overlay, owing: More = {}) {
  const stage = viewStage(['a', 'b']);
  const did: string[] = [];
  const neighbours = new Neighbours({
    ...{ overlay, settings: stage.settings, view: stage.view, outbound: stage.outbound },
    directives: { hash: () => 'mine' },
    contacts: {
      asked: (address) => did.push(`asked ${address}`),
      heard: ({ id }) => did.push(`heard ${id}`),
      reset: () => did.push('reset'),
    },
    membership: {
      part: ({ card }) => did.push(`part with ${card.id}`),
      greetOne: ({ id }) => did.push(`greet ${id}`),
    },
    handOff: {
      isWith: (id) => owing.lists?.includes(id) ?? false,
      unplaced: owing.unplaced ?? new UnplacedHosts(),
      listToOwner: (host, owner) => did.push(`list ${host} to ${owner}`),
      debtors: () => new Map(owing.debtors?.map((id) => [id, new Set(owing.leavers)])),
    },
    moved: () => did.push('moved'),
    located: (hosts) => did.push(`located ${hosts.join()}`),
  });
  const sent = () =>
    stage.sent().map(([to, message]) => {
      const leavers = message.type === 'LIST_ASK' ? ` ${message.leavers.join()}` : '';
      return `${to} ${message.type}${leavers}`;
    });
  return { ...stage, neighbours, did, sent };
}

describe('a turn of an overlay', () => {
  it('with a full view asks nothing', () => {
    const full = partialView({ pump: () => assert.fail('not partial') });
    const { neighbours, sent, did } = stageOf(Object.assign(full, { isPartial: false }));
    neighbours.pump(NOW);
    neighbours.beat({ id: 'me', inc: 1, counter: 1, idle: true, idleSince: 1 }, NOW);
    assert.deepEqual([sent(), did], [[], []]);
  });

  it('greets, asks members and pings addresses', () => {
    const peer = { id: 'x', address: 'tcp://x' };
    const work = {
      ...{ ...NO_WORK, greet: [peer], pings: [{ to: peer, message: PING }] },
      asks: ['a', 'gone'].map((to) => ({ to, message: ASK })),
    };
    const { neighbours, sent, did } = stageOf(partialView({ pump: () => work }));
    neighbours.pump(NOW);
    assert.deepEqual(did, ['greet x', 'asked tcp://x']);
    assert.deepEqual(sent(), ['a tcp://a REGION_ASK', 'x tcp://x PING']);
  });

  it('reports moved lists and found owners only when there are some', () => {
    const work = { ...NO_WORK, isMoved: true, located: ['h.example'] };
    const { neighbours, did } = stageOf(partialView({ pump: () => work }));
    neighbours.pump(NOW);
    assert.deepEqual(did, ['located h.example', 'moved']);
    const quiet = stageOf(partialView());
    quiet.neighbours.pump(NOW);
    assert.deepEqual(quiet.did, []);
  });
});

describe('the owner of a host with rows here', () => {
  /** A turn in which a look-up has found this agent for a host of which no member is the owner. */
  function turn(owner: string | undefined, found: string, nearest?: string, afterMs = 0) {
    const unplaced = new UnplacedHosts();
    unplaced.add('h.example');
    const forgotten: string[] = [];
    const find = () => ({ id: found, inc: 1, capacity: 1, address: 'tcp://x' });
    const overlay = partialView({ find, notThere: (host) => forgotten.push(host) });
    const { neighbours, did, view } = stageOf(overlay, { unplaced });
    view.owner = () => owner;
    view.probableOwner = () => nearest;
    neighbours.pump(NOW);
    neighbours.pump({ ...NOW, mono: NOW.mono + afterMs });
    return { did, forgotten, isPlaced: unplaced.isEmpty };
  }

  it('is greeted if it is not in view, once in a while', () => {
    assert.deepEqual(turn(undefined, 'x'), { did: ['greet x'], forgotten: [], isPlaced: false });
  });

  it('is looked for again if a member was found that is not the owner', () => {
    assert.deepEqual(turn(undefined, 'b'), { did: [], forgotten: ['h.example'], isPlaced: false });
  });

  it('gets a list if it is a member and the nearest known agent', () => {
    const { did, forgotten } = turn(undefined, 'b', 'b');
    assert.deepEqual([did, forgotten], [['list h.example to b'], []]);
  });

  it('is looked for again if it has been greeted for long and is not a member', () => {
    const { did, forgotten } = turn(undefined, 'x', 'b', 60_000);
    assert.deepEqual([did, forgotten], [['greet x'], ['h.example']]);
  });

  it('is not looked for if it is this agent or a member', () => {
    assert.deepEqual(turn('me', 'x'), { did: [], forgotten: [], isPlaced: true });
    assert.deepEqual(turn('b', 'x'), { did: [], forgotten: [], isPlaced: false });
  });
});

describe('a relayed message', () => {
  const from = (id: string) => ({ id, inc: 1 });
  const sender = { capacity: 1, address: 'tcp://far' };
  const relay = (origin: string, to = 'me', more = {}, message: Message = IDLE) => {
    const envelope = { from: from(origin), to: from(to), message } as const;
    return { type: 'RELAY', origin, to, envelope, ...more } as const;
  };
  const cardOf = (id: string) => ({ ...from(id), capacity: 1, address: `tcp://${id}` });

  it('of an agent outside the view tells how to answer it, over the relay', () => {
    const met: unknown[] = [];
    const meet: Overlay['meet'] = (card, _, via) => met.push([card.id, card.address, via?.id]) > 0;
    const { neighbours } = stageOf(partialView({ meet, met: cardOf }));
    for (const by of ['a', 'y']) {
      const opened = neighbours.onRelay(from(by), relay('far', 'me', { sender }), NOW);
      assert.equal(opened?.message, IDLE);
    }
    assert.deepEqual(met, [
      ['far', 'tcp://far', 'a'],
      ['far', 'tcp://far', 'y'],
    ]);
  });

  it('of a member is taken from members only', () => {
    const { neighbours } = stageOf(partialView({ met: cardOf }));
    assert.equal(neighbours.onRelay(from('b'), relay('a'), NOW)?.message, IDLE);
    assert.equal(neighbours.onRelay(from('far'), relay('a'), NOW), null);
  });

  it('that concerns the view is taken from members only', () => {
    const { neighbours } = stageOf(partialView({ met: cardOf }));
    const beat = relay('far', 'me', {}, { type: 'HEARTBEAT' } as Message);
    assert.ok(neighbours.onRelay(from('a'), beat, NOW));
    assert.equal(neighbours.onRelay(from('y'), beat, NOW), null);
  });

  it('is forwarded to members and to agents that have sent messages, for its origin', () => {
    const met = (id: string) => (id === 'far' ? cardOf(id) : null);
    const { neighbours, sent } = stageOf(partialView({ met }));
    for (const to of ['b', 'far', 'unknown']) neighbours.onRelay(from('a'), relay('a', to), NOW);
    neighbours.onRelay(from('b'), relay('a', 'far'), NOW);
    assert.deepEqual(sent(), ['b tcp://b RELAY', 'far tcp://far RELAY']);
  });
});

describe('a spare member', () => {
  it('is parted with, unless it leaves or a list is under way', () => {
    const overlay = partialView({ isSpare: () => true });
    const idle = stageOf(overlay);
    idle.neighbours.pump(NOW);
    assert.deepEqual(idle.did, ['part with a', 'part with b']);
    const busy = stageOf(overlay, { lists: ['a'] });
    busy.members[1]!.leaving = true;
    busy.neighbours.pump(NOW);
    assert.deepEqual(busy.did, []);
  });

  it('is only one that the overlay calls spare', () => {
    const overlay = partialView({ isSpare: ({ card }) => card.id === 'b' });
    const { neighbours, did } = stageOf(overlay);
    neighbours.pump(NOW);
    assert.deepEqual(did, ['part with b']);
  });
});

describe('a message of an overlay', () => {
  const answering = partialView({
    onContact: () => PING,
    onRegion: () => ASK,
    tree: { onMessage: () => IDLE } as unknown as Tree,
    met: (id): MemberCard | null =>
      id === 'x' ? { id, inc: 4, capacity: 1, address: 'tcp://x4' } : null,
  });

  it('of any agent about contacts is answered at the address that it names', () => {
    const { neighbours, sent, did } = stageOf(answering);
    neighbours.onMessage({ id: 'x', inc: 3 }, PING, NOW);
    assert.deepEqual([sent(), did], [['x tcp://x PING'], ['heard x']]);
  });

  it('about a region is taken from members only', () => {
    const { neighbours, sent } = stageOf(answering);
    neighbours.onMessage({ id: 'x', inc: 3 }, ASK, NOW);
    assert.deepEqual(sent(), []);
    neighbours.onMessage({ id: 'a', inc: 1 }, ASK, NOW);
    assert.deepEqual(sent(), ['a tcp://a REGION_ASK']);
  });

  it('about idle agents is taken from members and from agents that were met', () => {
    const { neighbours, sent } = stageOf(answering);
    for (const id of ['a', 'x', 'nobody']) neighbours.onMessage({ id, inc: 1 }, IDLE, NOW);
    assert.deepEqual(sent(), ['a tcp://a TREE_ASK', 'x tcp://x4 TREE_ASK']);
  });
});

describe('with each heartbeat', () => {
  const me = { id: 'me', inc: 1, counter: 1, idle: true, idleSince: 1 };

  it('the overlay learns the last heartbeat of each member', () => {
    const states: unknown[] = [];
    const survey: Tree['survey'] = (_, stateOf) => {
      for (const id of ['a', 'b', 'gone']) states.push(stateOf(id));
      return [{ to: { id: 'x', inc: 4, capacity: 1, address: 'tcp://x' }, message: IDLE }];
    };
    const overlay = partialView({ tree: { survey } as Tree });
    const { neighbours, members, sent } = stageOf(overlay);
    const last = { counter: 7, idle: true, idleSince: 3, viewHash: '', news: new Map() };
    members[0]!.lastHeartbeat = last;
    neighbours.beat(me, NOW);
    assert.deepEqual(states, [{ ...last, id: 'a', inc: 1 }, null, null]);
    assert.deepEqual(sent(), ['x tcp://x TREE_ASK']);
  });

  it('members that owe a list are asked for it, and told which leavers it must take into account', () => {
    const owing = { debtors: ['b', 'gone'], leavers: ['x'] };
    const { neighbours, sent } = stageOf(partialView(), owing);
    neighbours.beat(me, NOW);
    assert.deepEqual(sent(), ['b tcp://b LIST_ASK x']);
  });
});
