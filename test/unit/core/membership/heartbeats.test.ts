// Whom a heartbeat names to whom. With a partial view each receiver gets the news that it needs.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Greetings } from '../../../../agent/core/membership/greetings.ts';
import { Heartbeats } from '../../../../agent/core/membership/heartbeats.ts';
import { FullView, type Overlay } from '../../../../agent/core/membership/overlay.ts';
import type { Tombstones } from '../../../../agent/core/membership/tombstones.ts';
import type { Message } from '../../../../agent/core/protocol/messages.ts';
import type { FailureDetector } from '../../../../failure-detector/detector.ts';
import type { Lease } from '../../../../failure-detector/lease.ts';
import { NOW, partialView, viewStage } from './overlay-stage.ts';

type Heartbeat = Extract<Message, { type: 'HEARTBEAT' }>;

const STATE = { idle: false, idleSince: 0, viewHash: '', gen: 0 };

function stageOf(overlay: Overlay, { handingOver = [] as string[], lost = [] as string[] } = {}) {
  const stage = viewStage(['a', 'b', 'c']);
  const addresses = ['a', 'b', 'c', 'x'].map((id) => [id, `tcp://${id}`] as const);
  const heartbeats = new Heartbeats(
    {
      ...{ settings: stage.settings, view: stage.view, outbound: stage.outbound, overlay },
      detector: { counter: () => 5 } as unknown as FailureDetector,
      lease: { sent: () => {} } as unknown as Lease,
      directives: { hash: () => '' },
      changes: { isHandingOver: ({ card }) => handingOver.includes(card.id) },
    },
    {
      greetings: { addresses: () => addresses } as unknown as Greetings,
      tombstones: { entries: () => [] } as unknown as Tombstones,
      suspects: new Map(),
      lost: new Map(lost.map((id) => [id, 1])),
    },
  );
  const beats = () => {
    heartbeats.beat(STATE, NOW);
    return new Map(stage.sent().map(([to, beat]) => [to.split(' ')[0]!, beat as Heartbeat]));
  };
  const newsOf = (beat: Heartbeat | undefined) => beat?.news.map(({ id }) => id);
  return { ...stage, heartbeats, beats, newsOf };
}

describe('a heartbeat with a full view', () => {
  it('goes to all known agents, and says nothing of regions', () => {
    const { beats } = stageOf(new FullView());
    const sent = beats();
    assert.deepEqual([...sent.keys()], ['a', 'b', 'c', 'x']);
    assert.equal(sent.get('a')!.regions, undefined);
    assert.equal(sent.get('a')!.needs, undefined);
  });

  it('has the news of some members in turn, and always the echo of its receiver', () => {
    const { beats, newsOf } = stageOf(new FullView());
    const first = beats();
    assert.deepEqual(newsOf(first.get('a')), ['a', 'b']);
    assert.deepEqual(newsOf(first.get('c')), ['c', 'a', 'b']);
    assert.equal(first.get('x')!.more, true);
    assert.deepEqual(newsOf(beats().get('a')), ['c', 'a']);
  });

  it('has no news of a member that is not echoed, which is reported as gone', () => {
    const { beats, members, newsOf } = stageOf(new FullView());
    members[1]!.unechoed = true;
    const beat = beats().get('a')!;
    assert.deepEqual(newsOf(beat), ['a', 'c']);
    assert.deepEqual(beat.gone, [{ id: 'b', inc: 1 }]);
  });
});

describe('a heartbeat with a partial view', () => {
  const overlay = (more: Partial<Overlay> = {}) =>
    partialView({
      concerned: ({ card: to }) => new Set(to.id === 'a' ? ['b'] : []),
      about: () => ({ regions: [3], needs: false }),
      ...more,
    });

  it('names the members in the regions of its receiver, and the receiver itself', () => {
    const { beats, newsOf } = stageOf(overlay());
    const sent = beats();
    assert.deepEqual(newsOf(sent.get('a')), ['a', 'b']);
    assert.deepEqual(newsOf(sent.get('b')), ['b']);
    assert.equal(sent.get('a')!.more, undefined);
  });

  it('says what this agent watches, and whether it needs the receiver', () => {
    const sent = stageOf(overlay()).beats();
    assert.deepEqual([sent.get('a')!.regions, sent.get('a')!.needs], [[3], false]);
    const needed = overlay({ about: ({ card }) => ({ regions: [3], needs: card.id === 'b' }) });
    const both = stageOf(needed, { handingOver: ['c'] }).beats();
    assert.deepEqual(
      ['a', 'b', 'c'].map((id) => both.get(id)!.needs),
      [false, true, true],
    );
  });

  it('goes to members and to agents that were lost, not to all that were ever greeted', () => {
    assert.deepEqual([...stageOf(overlay()).beats().keys()], ['a', 'b', 'c']);
    assert.deepEqual(
      [
        ...stageOf(overlay(), { lost: ['x'] })
          .beats()
          .keys(),
      ],
      ['a', 'b', 'c', 'x'],
    );
  });

  it('has the same choice of news in a WELCOME, with the news of this agent', () => {
    const { heartbeats, members } = stageOf(overlay());
    const idsFor = (index: number) => heartbeats.newsFor(members[index], NOW).map(({ id }) => id);
    assert.deepEqual(idsFor(0), ['me', 'a', 'b']);
    assert.deepEqual(idsFor(2), ['me', 'c']);
    assert.deepEqual(idsFor(9), ['me', 'a', 'b', 'c']);
  });
});
