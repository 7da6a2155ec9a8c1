// Tests the start with a damaged state file: what remains after its log was truncated, flipped or
// replaced, and that no flip in the file goes unnoticed. The damage is done to copies of the files
// of one crawl, in many places each. These are the slow tests; the others are in
// `test/unit/storage/file/database-damage.test.ts`.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openState } from '../../../../../agent/storage/file/database.ts';
import {
  assertPrefix,
  at,
  type Crawl,
  copyOf,
  crawlOf,
  flip,
  mine,
  turns,
  turnsIn,
  urlsIn,
} from '../database-damage-stage.ts';

/** The size of a frame of the log: a header and a page. The frames follow the header of the log. */
const frameBytes = 24 + 4096;
const headerBytes = 32;

/** Lengths at the borders of frames and beside them, throughout the log. */
function cutsOf(length: number): number[] {
  const frames = Math.floor((length - headerBytes) / frameBytes);
  assert.ok(frames > 24, `only ${frames} frames`);
  const cuts = [0, 1, headerBytes - 1, headerBytes, length];
  for (let k = 0; k < 6; k++) {
    const border = headerBytes + Math.floor((k * frames) / 6) * frameBytes;
    for (const off of [-1, 0, 1, 24, 1000]) cuts.push(border + off);
  }
  return cuts.filter((cut) => cut >= 0).sort((a, b) => a - b);
}

/**
 * Opens the last moment after damage to its log; returns the number of turns, or null if the state
 * was set aside.
 */
function afterDamage(crawl: Crawl, damage: (log: string) => void): number | null {
  const directory = copyOf(crawl, crawl.moments.at(-1)!);
  damage(join(directory, 'state.sqlite-wal'));
  const count = turnsIn(directory);
  fs.rmSync(directory, { recursive: true });
  return count;
}

function logBytes({ moments }: Crawl): number {
  return fs.statSync(join(moments.at(-1)!, 'state.sqlite-wal')).size;
}

/** A whole state without a log; `flipped` opens a copy of it with a flipped bit. */
function soundFile(): {
  readonly size: number;
  flipped(position: number, bit: number): 'kept' | 'aside' | 'refused';
} {
  const crawl = crawlOf();
  const sound = copyOf(crawl, crawl.moments.at(-1)!);
  const count = turnsIn(sound)!;
  const was = urlsIn(sound);
  return {
    size: fs.statSync(join(sound, 'state.sqlite')).size,
    flipped(position, bit) {
      const directory = copyOf(crawl, sound);
      flip(join(directory, 'state.sqlite'), position, bit);
      const opened = openState({ directory, ...mine, quarantineAt: at });
      // A flip in the version number makes it a file of another version, which is refused.
      const codes = ['newer', 'other_crawl'];
      if (!opened.ok) assert.ok(codes.includes(opened.code), opened.message);
      else {
        if (opened.notice === null) assert.equal(assertPrefix(opened.db), count);
        opened.db.close();
        opened.unlock();
        if (opened.notice === null) {
          assert.equal(urlsIn(directory), was, `bit ${bit} of byte ${position}`);
        }
      }
      fs.rmSync(directory, { recursive: true });
      if (!opened.ok) return 'refused';
      return opened.notice === null ? 'kept' : 'aside';
    },
  };
}

test('database damage: a log that lost its end, at any length, leaves the turns before', () => {
  const crawl = crawlOf({ logPages: 0 });
  const counts = cutsOf(logBytes(crawl)).map((cut) =>
    afterDamage(crawl, (log) => fs.truncateSync(log, cut)),
  );
  assert.ok(!counts.includes(null), 'a lost end is not damage');
  const sorted = counts.toSorted((a, b) => a! - b!);
  assert.deepEqual(counts, sorted, 'a longer log gave less');
  assert.ok(sorted.at(-1)! > turns / 2 && sorted[0] === 0, String(sorted));
});

test('database damage: a log truncated below the last checkpoint gives whole turns, or is set aside', () => {
  const crawl = crawlOf();
  const outcomes = cutsOf(logBytes(crawl)).map((cut) =>
    afterDamage(crawl, (log) => fs.truncateSync(log, cut)),
  );
  assert.ok(outcomes.some((count) => count !== null && count > 0));
});

test('database damage: a bit flipped in the log leaves the turns before it', () => {
  const crawl = crawlOf({ logPages: 0 });
  const whole = afterDamage(crawl, () => {});
  const length = logBytes(crawl);
  let lost = 0;
  for (let k = 0; k < 24; k++) {
    const position = Math.floor((length * (k + 0.5)) / 24);
    const count = afterDamage(crawl, (log) => flip(log, position, k % 8));
    assert.ok(count !== null && whole !== null && count <= whole);
    if (count < whole) lost++;
  }
  assert.equal(lost, 24, 'every flip costs the turns after it');
});

test('database damage: a bit flipped in the file never changes the state unnoticed', () => {
  const { flipped, size } = soundFile();
  const runs = 160;
  let aside = 0;
  for (let k = 0; k < runs; k++) {
    if (flipped(Math.floor((size * (k + 0.37)) / runs), k % 8) === 'aside') aside++;
  }
  assert.ok(aside > 0);
});

test('database damage: a bit flipped in the header of the file never changes the state unnoticed', () => {
  const { flipped } = soundFile();
  for (let byte = 0; byte < 100; byte++) flipped(byte, byte % 8);
  // The bytes that decide who may write, the format of the schema, and its version.
  for (const byte of [18, 19, 44, 47, 60, 63]) {
    for (let bit = 0; bit < 8; bit++) flipped(byte, bit);
  }
});

test('database damage: a file of one moment with the log of another gives whole turns, or is set aside', () => {
  const crawl = crawlOf();
  let aside = 0;
  for (const file of crawl.moments) {
    for (const log of crawl.moments) {
      const directory = copyOf(crawl, file);
      fs.copyFileSync(join(log, 'state.sqlite-wal'), join(directory, 'state.sqlite-wal'));
      // `turnsIn` asserts that an opened state is one that existed.
      if (turnsIn(directory) === null) aside++;
      fs.rmSync(directory, { recursive: true });
    }
  }
  assert.ok(aside > 0, 'not exercised: every combination was a valid state');
});
