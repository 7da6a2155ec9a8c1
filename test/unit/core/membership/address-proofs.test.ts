import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressProofs } from '../../../../agent/core/membership/address-proofs.ts';

const suspectAfterMs = 1000;

function proofs() {
  const settings = {
    ...{
      id: 'me',
      address: 'tcp://10.0.0.1:1',
      configured: [],
      proofKey: 'k',
      fingerprintHash: 'f',
    },
    ...{ suspectAfterMs, leaseMs: 600, heartbeatMs: 100, digest: (text: string) => text },
    bounds: { unconfigured: 9, unconfiguredCapacity: 9 },
  };
  const parts = {
    settings,
    view: { get: () => undefined, has: () => false, members: () => [] },
    outbound: { isConfigured: () => false, toAddress: () => {} },
    detector: { lastNewsMs: () => undefined },
  };
  return new AddressProofs(parts as unknown as ConstructorParameters<typeof AddressProofs>[0]);
}

/** Whether a claim of the agent `a` fails at each of the times. */
function judging() {
  const judged = proofs();
  judged.reset({ mono: 0, wall: 0 });
  const claim = { id: 'a', inc: 1, address: 'tcp://10.0.0.2:1', capacity: 1 };
  return (mono: number, by = 'a', proof?: string) => {
    const verdict = judged.judge(claim, { by, proof }, true, { mono, wall: mono });
    assert.equal(verdict.code, proof === undefined ? 'asked' : 'granted');
    return 'why' in verdict && verdict.why !== undefined;
  };
}

test('address proofs: a claim fails after suspectAfterMs, and begins anew after such a pause', () => {
  const judge = judging();
  const failsAt = (mono: number) => judge(mono);
  assert.deepEqual([0, 500, 999, 1000, 1500].map(failsAt), [false, false, false, true, true]);
  assert.deepEqual([2500, 3000, 3499, 3500].map(failsAt), [false, false, false, true]);
});

test('address proofs: a claim does not fail while only others report it', () => {
  const failsAt = judging();
  assert.equal(failsAt(0), false);
  // The link from the agent is cut, so its answers to PROBEs are lost as its claims are.
  for (let ms = 100; ms < 1100; ms += 100) assert.equal(failsAt(ms, 'b'), false);
  assert.deepEqual(
    [1100, 1600, 2099, 2100].map((ms) => failsAt(ms)),
    [false, false, false, true],
  );
});

test('address proofs: a claim does not fail within suspectAfterMs of an answer to a PROBE', () => {
  const failsAt = judging();
  // An earlier incarnation is in view elsewhere, and its lease has not ended yet.
  for (const ms of [0, 500, 900]) assert.equal(failsAt(ms), false);
  failsAt(910, 'a', 'k a 1 tcp://10.0.0.2:1');
  assert.deepEqual(
    [1000, 1500, 1909, 1910].map((ms) => failsAt(ms)),
    [false, false, false, true],
  );
});
