import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  BULK_BYTES_MAX,
  CONTROL_BYTES_MAX,
  CONTROL_FRAMES_MAX,
} from '../../../agent/messaging/checks/limits.ts';
import { type Lane, Lanes } from '../../../agent/messaging/send-lanes.ts';

function frame(name: number, size = 4): Uint8Array {
  const bytes = Buffer.alloc(Math.max(4, size));
  bytes.writeUInt32LE(name);
  return bytes;
}

function drain(lanes: Lanes): number[] {
  const names: number[] = [];
  for (let next = lanes.next(); next; next = lanes.next()) {
    names.push(Buffer.from(next).readUInt32LE());
  }
  return names;
}

describe('lanes', () => {
  it('lanes: control frames precede bulk frames, each lane in order', () => {
    const lanes = new Lanes();
    lanes.offer('bulk', 'URLS', frame(1));
    lanes.offer('control', 'URLS_ACK', frame(2));
    lanes.offer('bulk', 'LIST', frame(3));
    lanes.offer('control', 'HEARTBEAT', frame(4));
    assert.deepEqual(drain(lanes), [2, 4, 1, 3]);
  });

  it('lanes: only the newest heartbeat is kept, in the place of the first', () => {
    const lanes = new Lanes();
    lanes.offer('control', 'HEARTBEAT', frame(1));
    lanes.offer('control', 'URLS_ACK', frame(2));
    for (let name = 3; name < 100; name += 1) lanes.offer('control', 'HEARTBEAT', frame(name));
    assert.equal(lanes.controlFrames, 2);
    assert.deepEqual(drain(lanes), [99, 2]);
  });

  it('lanes: acknowledgements displace the oldest acknowledgement, never the heartbeat', () => {
    const lanes = new Lanes();
    lanes.offer('control', 'HEARTBEAT', frame(0));
    let lost = 0;
    for (let name = 1; name <= CONTROL_FRAMES_MAX + 9; name += 1) {
      lost += lanes.offer('control', 'URLS_ACK', frame(name));
    }
    const kept = drain(lanes);
    assert.equal(lost, 10);
    assert.equal(kept[0], 0);
    assert.equal(kept[1], 11);
    assert.equal(kept.length, CONTROL_FRAMES_MAX);
  });

  it('lanes: bulk frames beyond the maximum are refused, and waiting ones are kept', () => {
    const lanes = new Lanes();
    const size = BULK_BYTES_MAX / 4;
    const lost = [1, 2, 3, 4, 5].map((name) => lanes.offer('bulk', 'URLS', frame(name, size)));
    assert.deepEqual(lost, [0, 0, 0, 0, 1]);
    assert.ok(lanes.bulkFull);
    assert.deepEqual(drain(lanes), [1, 2, 3, 4]);
    assert.ok(!lanes.bulkFull);
  });

  it('lanes: a frame larger than the bulk maximum is accepted alone', () => {
    const lanes = new Lanes();
    assert.equal(lanes.offer('bulk', 'LIST', frame(1, BULK_BYTES_MAX * 2)), 0);
    assert.equal(lanes.offer('bulk', 'LIST', frame(2)), 1);
    assert.deepEqual(drain(lanes), [1]);
  });

  it('lanes: stay bounded whatever is offered, and count every lost frame', () => {
    const offer = fc.record({
      lane: fc.constantFrom<Lane>('control', 'bulk'),
      type: fc.constantFrom('URLS_ACK' as const, 'YIELD' as const),
      size: fc.integer({ min: 4, max: 400_000 }),
      take: fc.boolean(),
    });
    const property = fc.property(fc.array(offer, { maxLength: 200 }), (offers) => {
      const lanes = new Lanes();
      let lost = 0;
      let taken = 0;
      for (const [name, { lane, type, size, take }] of offers.entries()) {
        lost += lanes.offer(lane, type, frame(name, size));
        if (take && lanes.next() !== undefined) taken += 1;
        assert.ok(lanes.controlFrames <= CONTROL_FRAMES_MAX);
        assert.ok(lanes.controlBytes <= CONTROL_BYTES_MAX);
        assert.ok(lanes.bulkBytes <= BULK_BYTES_MAX || lanes.bulkFrames === 1);
      }
      assert.equal(taken + lost + drain(lanes).length, offers.length);
      assert.equal(lanes.controlBytes + lanes.bulkBytes, 0);
    });
    fc.assert(property, { numRuns: 50 });
  });
});
