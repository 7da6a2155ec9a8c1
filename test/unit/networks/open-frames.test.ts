import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OpenFrames } from '../../../agent/networks/open-frames.ts';
import type { Frame } from '../../../agent/networks/pools.ts';

const now = { mono: 0, wall: 0 };

function frame(number: string, ...digests: string[]): Frame {
  return { number, flag: 1, network: 'a', origin: 'a-1', relay: 'a', sender: 'a-1.1', digests };
}

function opened(marks: string, ...digests: string[]) {
  const frames = new OpenFrames(['b', 'c']);
  frames.add(frame('a/1', ...digests), marks, now);
  const [open] = frames.all();
  return { frames, open: open! };
}

describe('open frames', () => {
  it('a digest is new when all other networks do not know it', () => {
    const { frames, open } = opened('0', 'x');
    frames.decide('x', 'b', '0');
    assert.equal(frames.isDecided(open), false);
    frames.decide('x', 'c', '0');
    assert.equal(frames.isDecided(open), true);
    const { verdict, conceded } = frames.verdict(open);
    assert.deepEqual([verdict.owners, verdict.isPartial, conceded], [[''], false, []]);
  });

  it('a network that has finished a digest is named before one that has claimed it', () => {
    const { frames, open } = opened('0', 'x');
    frames.decide('x', 'b', 'q');
    frames.decide('x', 'c', 'f');
    const { verdict, conceded } = frames.verdict(open);
    assert.deepEqual([verdict.owners, verdict.finals, conceded], [['c'], '1', ['x']]);
  });

  it('digests that this network had before are not asked for', () => {
    const { frames, open } = opened('qf0', 'x', 'y', 'z');
    assert.deepEqual(frames.undecided(open, 'b'), ['z']);
    assert.equal(frames.isAsking('x'), false);
  });

  it('the lower network concedes at once', () => {
    const { frames, open } = opened('0', 'x');
    assert.equal(frames.compare('x', 'b', false), false);
    assert.deepEqual(frames.undecided(open, 'b'), []);
    frames.decide('x', 'b', '0');
    assert.deepEqual(frames.verdict(open).verdict.owners, ['b']);
  });

  it('the higher network waits for the answer, and a claim in it counts', () => {
    const { frames, open } = opened('0', 'x');
    assert.equal(frames.compare('x', 'b', true), true);
    assert.deepEqual(frames.undecided(open, 'b'), ['x']);
    frames.decide('x', 'b', 'q');
    assert.deepEqual(frames.verdict(open).verdict.owners, ['b']);
  });

  it('after the answer 0 it keeps the digest whatever its rank', () => {
    const { frames } = opened('0', 'x');
    frames.decide('x', 'b', '0');
    assert.equal(frames.compare('x', 'b', false), true);
  });

  it('a verdict without all answers is partial', () => {
    const { frames, open } = opened('0', 'x');
    frames.decide('x', 'b', '0');
    const { verdict } = frames.verdict(open);
    assert.deepEqual([verdict.owners, verdict.isPartial], [[''], true]);
  });

  it('a frame with a digest of an open frame overlaps until that one is deleted', () => {
    const { frames } = opened('0', 'x');
    assert.equal(frames.overlaps(frame('a/2', 'y', 'x')), true);
    frames.delete('a/1');
    assert.equal(frames.overlaps(frame('a/2', 'y', 'x')), false);
  });

  it('of two frames with a digest in common, as another program may write them, each is decided', () => {
    for (const marks of ['0', 'q']) {
      const { frames, open } = opened('0', 'x');
      frames.add(frame('a/2', 'x', 'y'), `${marks}0`, now);
      const second = [...frames.all()][1]!;
      assert.deepEqual([...second.claimed], ['y']);
      for (const network of ['b', 'c']) frames.decide('y', network, '0');
      assert.equal(frames.isDecided(second), true);
      frames.delete('a/2');
      for (const network of ['b', 'c']) frames.decide('x', network, 'q');
      assert.equal(frames.isDecided(open), true);
    }
  });
});
