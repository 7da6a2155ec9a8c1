import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Shutdown } from '../../../../agent/core/lifecycle/shutdown.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';

const SUSPECT_MS = 10_000;

/** An agent that finds the crawl complete while a2 is idle. */
function stageOf(networks?: { mayEnd(): boolean; tellAll(): boolean }) {
  const effects = new Effects();
  const other = { card: { id: 'a2', inc: 1 }, lastHeartbeat: { idle: true } };
  const state = { isComplete: true };
  const parts = {
    settings: { id: 'a1', suspectAfterMs: SUSPECT_MS, backups: 1 },
    store: { owned: () => ({ pages: 3 }) },
    events: { record: () => 0 },
    effects,
    view: { me: 'a1', members: () => [other] },
    overlay: { tree: { hasToldVerdict: true, isComplete: false, verdictFor: () => undefined } },
    detector: { suspected: () => [] },
    outbound: { inc: 1, toMember() {} },
    completion: { isComplete: () => state.isComplete, members: ['a1', 'a2'] },
    directives: { hash: () => '' },
    visits: { isEmpty: () => true },
    isIdle: () => true,
    networks,
  };
  const shutdown = new Shutdown(parts as unknown as ConstructorParameters<typeof Shutdown>[0]);
  const pump = (mono: number) => shutdown.pump({ mono, wall: mono });
  pump(0);
  assert.equal(shutdown.state, 'complete');
  return { shutdown, effects, other, state, pump };
}

it('end: a member that has said nothing delays it for two suspicion times', () => {
  const { shutdown, effects, pump } = stageOf();
  pump(2 * SUSPECT_MS - 1);
  assert.equal(shutdown.state, 'complete');
  pump(2 * SUSPECT_MS);
  assert.deepEqual(
    effects.take().map(({ type }) => type),
    ['end'],
  );
});

it('end: the crawl continues if a member gets work meanwhile', () => {
  const { shutdown, effects, other, state, pump } = stageOf();
  other.lastHeartbeat.idle = false;
  state.isComplete = false;
  for (const mono of [1, 2 * SUSPECT_MS, 4 * SUSPECT_MS]) pump(mono);
  assert.deepEqual([shutdown.state, effects.take()], ['crawling', []]);
  other.lastHeartbeat.idle = true;
  state.isComplete = true;
  pump(5 * SUSPECT_MS);
  assert.equal(shutdown.state, 'complete');
});

it('stop: it waits until Redis knows what has ended here, and for no longer than five seconds', () => {
  for (const toldAt of [1000, Infinity]) {
    let mono = 0;
    const effects = new Effects();
    const parts = {
      effects,
      completion: { members: [] },
      visits: { openCount: () => 0 },
      networks: { tellAll: () => mono >= toldAt },
    };
    const shutdown = new Shutdown(parts as unknown as ConstructorParameters<typeof Shutdown>[0]);
    shutdown.stop({ mono, wall: mono });
    for (; shutdown.state !== 'ended'; mono += 500) shutdown.pump({ mono, wall: mono });
    assert.equal(mono - 500, Math.min(toldAt, 5000));
  }
});

it('end: each time, Redis has five seconds to confirm what was told', () => {
  const { shutdown, pump } = stageOf({ mayEnd: () => true, tellAll: () => false });
  pump(2 * SUSPECT_MS);
  assert.equal(shutdown.state, 'complete');
  shutdown.reopen();
  const later = 60_000;
  pump(later);
  pump(later + 2 * SUSPECT_MS);
  pump(later + 2 * SUSPECT_MS + 4999);
  assert.equal(shutdown.state, 'complete');
  pump(later + 2 * SUSPECT_MS + 5000);
  assert.equal(shutdown.state, 'ended');
});
