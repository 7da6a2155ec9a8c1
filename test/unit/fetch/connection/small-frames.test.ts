// Tests that small frames of an HTTP/2 body are joined, and that a connection with many of them
// waits for its turn to be read.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ReadGate, ReadTurns } from '../../../../agent/fetch/connection/read-turns.ts';
import { joinSmallFrames } from '../../../../agent/fetch/connection/small-frames.ts';

function joining() {
  let waits = 0;
  let credits = 0;
  const stream = new Readable({ read: () => credits++ });
  joinSmallFrames(stream, { awaitTurn: () => void waits++ });
  const chunks: number[] = [];
  let ends = 0;
  stream.on('data', ({ byteLength }) => chunks.push(byteLength));
  stream.once('end', () => ends++);
  const send = (bytes: number, frames = 1) => {
    let wantsMore = true;
    for (let k = 0; k < frames; k++) wantsMore = stream.push(new Uint8Array(bytes));
    return wantsMore;
  };
  return { stream, chunks, send, waits: () => waits, ends: () => ends, credits: () => credits };
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

test('small frames: frames of ordinary size and a few small ones pass immediately', async () => {
  const { chunks, send, waits } = joining();
  await nextTurn();
  send(16_384, 100);
  send(700, 5);
  assert.equal(chunks.length, 105);
  assert.equal(waits(), 0);
});

test('small frames: frames of one byte are joined, and the connection waits for its turn', async () => {
  const { stream, chunks, send, waits, ends } = joining();
  await nextTurn();
  assert.equal(send(1, 6000), true);
  assert.ok(waits() > 0);
  await nextTurn();
  assert.equal(sum(chunks), 6000);
  assert.ok(chunks.length < 20, `${chunks.length} chunks`);
  send(1, 10);
  send(16_384);
  send(1, 10);
  stream.push(null);
  await nextTurn();
  assert.deepEqual(chunks.slice(-3), [10, 16_384, 10]);
  assert.equal(ends(), 1);
});

test('small frames: a paused stream requests no more data, and holds few objects', async () => {
  const { stream, chunks, send, ends, credits } = joining();
  await nextTurn();
  send(1, 16);
  stream.pause();
  assert.equal(send(1, 5000), false);
  await nextTurn();
  assert.equal(send(1, 5000), false);
  stream.push(null);
  assert.equal(stream.readableLength, 10_000);
  const before = [chunks.length, credits()];
  await nextTurn();
  assert.deepEqual([chunks.length, credits()], before);
  stream.resume();
  await nextTurn();
  assert.equal(sum(chunks), 10_016);
  assert.ok(chunks.length <= 18, `${chunks.length} chunks`);
  assert.equal(ends(), 1);
});

test('small frames: a stream requests more data when it is resumed', async () => {
  const { stream, send, credits } = joining();
  await nextTurn();
  stream.pause();
  send(1, 100);
  const before = credits();
  stream.resume();
  await nextTurn();
  await nextTurn();
  assert.ok(credits() > before);
});

test('small frames: a destroyed stream emits nothing more', async () => {
  const { stream, chunks, send } = joining();
  await nextTurn();
  send(1, 100);
  stream.destroy();
  await nextTurn();
  assert.equal(sum(chunks), 16);
});

function gateOf(turns: ReadTurns) {
  const calls: string[] = [];
  const handle = { readStop: () => calls.push('stop'), readStart: () => calls.push('start') };
  return { calls, gate: new ReadGate({ _handle: handle } as unknown as Socket, turns) };
}

test('read turns: one of the waiting connections is read in each turn', async () => {
  const turns = new ReadTurns();
  const gates = [gateOf(turns), gateOf(turns), gateOf(turns)];
  for (const { gate } of gates) gate.awaitTurn();
  for (let turn = 0; turn <= 3; turn++) {
    assert.equal(gates.filter(({ calls }) => calls.at(-1) === 'start').length, turn);
    await nextTurn();
  }
});

test('read turns: a connection that closes while it waits is skipped', async () => {
  const turns = new ReadTurns();
  const closed = new ReadGate({ _handle: null } as unknown as Socket, turns);
  const { gate, calls } = gateOf(turns);
  closed.awaitTurn();
  gate.awaitTurn();
  await nextTurn();
  await nextTurn();
  assert.equal(calls.at(-1), 'start');
});
