// Real processes that know only contacts, and restart when these are gone, or after all of them were
// killed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
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

type Staged = Awaited<ReturnType<typeof stageOf>>;
type Begun = Map<string, ReturnType<Staged['begin']>>;

/** Kills the contact, stops d, and starts d and then the contact again. */
async function restartsWithoutContact({ scratch, config, at, begin, kill }: Staged, agents: Begun) {
  await until('d to keep b', () => keptBy(scratch, 'd').includes(`"${at('b')}"`));
  kill('a');
  await untilJoined(config, ...'bd');
  // The others forget an agent that leaves. One that was killed would hear from them.
  assertCode(await run('stop', config, 'd'), 0);
  assertCode(await agents.get('d')!.ended, 0);
  await untilJoined(config, 'b');
  agents.set('d', begin('d'));
  await untilJoined(config, ...'bd');
  agents.set('a', begin('a'));
  await untilJoined(config, ...'abd');
  const sql = `SELECT detail ->> 'members' AS n FROM events
    WHERE agent = 'a' AND kind = 'join' AND detail ->> 'agent' = 'a' ORDER BY at DESC LIMIT 1`;
  const { stdout } = await run('query', config, sql, '--format', 'json');
  assert.notEqual((JSON.parse(stdout) as { n: number }[])[0]!.n, 1, 'no second cluster');
}

/** Kills all, starts all but the contact, and makes one of them a contact. */
async function beginWithNewContact({ scratch, config, at, begin, kill }: Staged, agents: Begun) {
  for (const id of agents.keys()) kill(id);
  for (const { ended } of agents.values()) await ended;
  fs.rmSync(`${scratch.dataDir}/a`, { recursive: true });
  const b = begin('b');
  const d = begin('d');
  const said = new RegExp(
    `d waits, too: only a contact begins a cluster; if the crawl is over .*, there is nothing to ` +
      `join; otherwise start one of ${at('a')}; if none can be started, add the address of one ` +
      'agent that waits to cluster.contacts, and restart that agent',
  );
  await until('the warning', () => said.test(b.stderr()));
  const written = JSON.parse(fs.readFileSync(config, 'utf8')) as { cluster: object };
  const cluster = { ...written.cluster, contacts: [at('a'), at('b')] };
  const corrected = scratch.write('corrected.json', { ...written, cluster });
  kill('b');
  await b.ended;
  begin('b', corrected);
  await untilJoined(corrected, 'b', 'd');
  assert.equal(d.child.exitCode, null, 'd was not restarted');
  assert.match((await run('status', config)).stdout, /^d +/m);
}

test('agents that know only a contact', async (t) => {
  const staged = await stageOf(t, 'abd', 83);
  const agents: Begun = new Map([...'abd'].map((id) => [id, staged.begin(id)]));
  await untilJoined(staged.config, ...'abd');
  await t.test('an agent restarts without its original contact, and the contact joins again', () =>
    restartsWithoutContact(staged, agents),
  );
  await t.test('agents without their contact begin when one of them becomes a contact', () =>
    beginWithNewContact(staged, agents),
  );
});
