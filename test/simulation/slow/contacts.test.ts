// Agents of the overlay kademlia whose contact does not run.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOUNDS } from '../../../agent/core/protocol/bounds.ts';
import { cluster } from '../case-kit.ts';

const kademlia = { contacts: ['a1'], ids: 1, neighbourhood: 4, bucketSize: 4 };
const IDS = ['a1', 'a2', 'a3', 'a4', 'a5'];
const of = () => cluster(IDS, { kademlia, backups: 1, delayMs: 2000 }, 3, 600);

/** All have joined, and have kept the addresses of the others. */
function joined() {
  const c = of();
  c.startAll();
  c.runUntil('all have joined', () => IDS.every((id) => c.snapshot(id).joined));
  c.run(10_000);
  return c;
}

describe('without the contact', () => {
  it('an agent that has never joined ends with 5 after a minute', () => {
    const c = of();
    c.start('a2');
    const { end } = c.agents.get('a2')!;
    assert.equal(end, null);
    c.run(59_000);
    assert.match(c.snapshot('a2').waits!, /^has not joined: no agent answers at /);
    assert.equal(c.agents.get('a2')!.end, null);
    c.run(2000);
    assert.equal(c.agents.get('a2')!.end?.code, 5);
  });

  it('an agent restarts through the others', () => {
    const c = joined();
    c.kill('a1');
    const { core, inputs } = c.agents.get('a5')!;
    inputs.push(() => core.leave(c.instant('a5')));
    c.runUntil('a5 has left', () => c.agents.get('a5')!.end !== null, 40_000);
    c.run(10_000);
    c.start('a5');
    c.runUntil('a5 has joined', () => c.snapshot('a5').joined, 30_000);
    assert.ok(c.snapshot('a5').members.length > 0);
  });

  it('agents that have all stopped begin no cluster, and wait for the contact', () => {
    const c = joined();
    for (const id of IDS) c.kill(id);
    for (const id of IDS.slice(1)) c.start(id);
    c.run(70_000);
    for (const id of IDS.slice(1)) {
      assert.equal(c.snapshot(id).joined, false, id);
      assert.match(c.snapshot(id).waits!, /wait, too: only a contact begins a cluster/);
    }
    c.start('a1');
    c.runUntil('all have joined', () => IDS.every((id) => c.snapshot(id).joined), 30_000);
  });

  it('an agent that was stalled waits for the others for as long as it takes', () => {
    const c = joined();
    for (const id of IDS.slice(0, 4)) c.kill(id);
    c.stall('a5', 20_000);
    c.run(200_000);
    assert.equal(c.agents.get('a5')!.end, null);
    for (const id of IDS.slice(0, 4)) c.start(id);
    c.runUntil('all have joined', () => IDS.every((id) => c.snapshot(id).joined), 30_000);
  });
});

describe('many agents that start at once', () => {
  it('join one after the other if they have room for few members', () => {
    const ids = Array.from({ length: 24 }, (_, i) => `a${i + 1}`);
    const bounds = { ...BOUNDS, unconfigured: 16 };
    const plan = { kademlia, backups: 1, delayMs: 2000, settings: () => ({ bounds }) };
    const c = cluster(ids, plan, 3, 600);
    c.start('a1');
    c.runUntil('the contact has joined', () => c.snapshot('a1').joined);
    for (const id of ids.slice(1)) c.start(id);
    c.runUntil('one must wait', () =>
      ids.some((id) => /must wait/.test(c.snapshot(id).waits ?? '')),
    );
    c.runUntil('all have joined', () => ids.every((id) => c.snapshot(id).joined), 60_000);
    assert.deepEqual(
      ids.flatMap((id) => c.snapshot(id).refused),
      [],
    );
  });
});

describe('a contact that restarts', () => {
  it('asks the agents that it knew before it begins a cluster', () => {
    const c = joined();
    c.kill('a1');
    c.run(20_000);
    c.start('a1');
    c.runUntil('a1 has joined', () => c.snapshot('a1').joined, 30_000);
    assert.ok(c.snapshot('a1').members.length > 0);
  });
});
