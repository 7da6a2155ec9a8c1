// Real processes that know only contacts, and restart when these are gone.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { run, type Scratch, until, untilJoined } from '../cli-process.ts';
import { assertCode } from '../cluster-stage.ts';
import { stageOf } from '../contacts-stage.ts';

/** The addresses that an agent keeps. */
function keptBy(scratch: Scratch, id: string): string {
  const file = new Database(join(scratch.dataDir, id, 'state.sqlite'), { readonly: true });
  try {
    const sql = "SELECT value FROM meta WHERE key = 'addresses'";
    return String(file.prepare(sql).pluck().get());
  } finally {
    file.close();
  }
}

test('an agent restarts without its original contact, and the contact joins again', async (t) => {
  const { scratch, config, at, begin, kill } = await stageOf(t, 'abcd', 83);
  const [, , , d] = [...'abcd'].map((id) => begin(id));
  await untilJoined(config, ...'abcd');
  const others = [at('b'), at('c')];
  const isKept = () => others.every((one) => keptBy(scratch, 'd').includes(`"${one}"`));
  await until('d to keep b and c', isKept);
  kill('a');
  await untilJoined(config, ...'bcd');
  // The others forget an agent that leaves. One that was killed would hear from them.
  assertCode(await run('stop', config, 'd'), 0);
  assertCode(await d!.ended, 0);
  await untilJoined(config, ...'bc');
  begin('d');
  await untilJoined(config, ...'bcd');
  begin('a');
  await untilJoined(config, ...'abcd');
  const sql = `SELECT detail ->> 'members' AS n FROM events
    WHERE agent = 'a' AND kind = 'join' AND detail ->> 'agent' = 'a' ORDER BY at DESC LIMIT 1`;
  const { stdout } = await run('query', config, sql, '--format', 'json');
  assert.notEqual((JSON.parse(stdout) as { n: number }[])[0]!.n, 1, 'no second cluster');
});
