import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { checkedCompletion } from '../../../../agent/cli/state-files/completion-check.ts';
import {
  readCompletion,
  recordCompletion,
  writeRefreshing,
} from '../../../../agent/cli/state-files/completion-file.ts';
import { ordersOf } from '../../../../agent/cli/state-files/state-totals.ts';
import type { EventKind } from '../../../../agent/core/protocol/event-log.ts';
import type { Directive } from '../../../../agent/core/protocol/messages.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { DirectiveTable } from '../../../../agent/storage/tables/directive-table.ts';
import type { Config } from '../../../../config/config.ts';
import { good, newDirectory, plain } from '../../config/written-config.ts';

const isRoot = process.getuid?.() === 0;
const agents = ['a1', 'a2'];
const blocked: Directive = { kind: 'block', host: 'h.test', value: 1, n: 1, by: 'a1' };

function save(config: Config, agent: string, directive: Directive): void {
  const directory = path.join(config.agent.dataDir, agent);
  const state = openState({ directory, crawl: config.name, agent });
  assert.ok(state.ok);
  new DirectiveTable(state.db).saveDirective(directive, 0);
  state.db.close();
  state.unlock();
}

/**
 * An agent that met only itself.
 *
 * @returns ends it
 */
function saveHistory(config: Config, agent: string, kinds: readonly EventKind[], queued?: string) {
  const directory = path.join(config.agent.dataDir, agent);
  const state = openState({ directory, crawl: config.name, agent });
  assert.ok(state.ok);
  const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
  store.begin();
  if (queued !== undefined) store.enqueue(new URL(queued).host, { url: queued, depth: 0 }, null);
  for (const kind of kinds) store.event(1, kind, { agent, view: [agent] });
  store.commit(true);
  store.close();
  return state.unlock;
}

function record(config: Config): void {
  const orders = ordersOf(config.agent.dataDir, 'a1')!;
  recordCompletion(config, { at: 0, agents, orders });
}

/** A complete crawl in which a host is blocked. */
function completed(): Config {
  const dataDir = path.join(newDirectory(), 'data');
  const config = good(`${plain}cluster: { agents: 2 }\n`, { dataDir });
  for (const agent of agents) save(config, agent, blocked);
  record(config);
  return config;
}

const judged = (config: Config) => checkedCompletion(config, agents);

/** As another user, who may read the data directory and write nothing. */
function asReader<T>({ agent: { dataDir } }: Config, act: () => T): T {
  for (const name of fs.readdirSync(dataDir, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(dataDir, name);
    // As in a copy that was made while no agent ran.
    if (/-(wal|shm)$/.test(name)) fs.rmSync(file);
    else fs.chmodSync(file, fs.statSync(file).isDirectory() ? 0o555 : 0o444);
  }
  for (let up = dataDir; up.startsWith(`${os.tmpdir()}/`); up = path.dirname(up)) {
    fs.chmodSync(up, 0o755);
  }
  if (isRoot) process.seteuid!(65_534);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid!(0);
    for (const agent of agents) fs.chmodSync(path.join(dataDir, agent), 0o755);
  }
}

test('a data directory that may only be read is judged as one that may be written', () => {
  const config = completed();
  assert.equal(asReader(config, () => judged(config)).kind, 'complete');
  const file = path.join(config.agent.dataDir, 'a2', 'state.sqlite');
  fs.chmodSync(file, 0o644);
  const bytes = fs.readFileSync(file);
  fs.writeFileSync(file, bytes.subarray(0, bytes.length / 2));
  const found = asReader(config, () => judged(config));
  assert.ok(found.kind === 'unsound');
  assert.deepEqual(
    found.agents.map(({ agent }) => agent),
    ['a2'],
  );
});

/** Judges in a process of that other user. */
function judgedByNobody(config: Config, env: NodeJS.ProcessEnv = {}) {
  const nobody = path.resolve(import.meta.dirname, '../../../integration/as-nobody.ts');
  const args = JSON.stringify([config, agents]);
  const command = [nobody, 'state-files/completion-check.ts', 'checkedCompletion', args];
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  return spawnSync(process.execPath, command, options);
}

const skip = isRoot ? false : 'only root can run code as another user';

test('if a state cannot be copied, that is said, and it does not count as lost', { skip }, () => {
  const config = completed();
  asReader(config, () => {});
  const { status, stderr } = judgedByNobody(config, { TMPDIR: '/nonexistent' });
  assert.equal(status, 4, stderr);
  assert.match(stderr, /state\.sqlite cannot be copied: cannot write in \/nonexistent: /);
  assert.match(stderr, /; name a directory with room in TMPDIR\n$/);
});

test('a state that only another user may read is named with its owner', { skip }, () => {
  const config = completed();
  asReader(config, () => {});
  const directory = path.join(config.agent.dataDir, 'a2');
  for (const barred of [path.join(directory, 'state.sqlite'), directory]) {
    fs.chmodSync(barred, 0);
    const { status, stderr } = judgedByNobody(config);
    assert.equal(status, 4, stderr);
    const remedy = 'belongs to user 0; run the command as that user or as root';
    assert.equal(stderr, `permission missing: ${barred} ${remedy}\n`);
  }
});

for (const [what, directive] of [
  ['an unblock', { ...blocked, value: null, n: 2 }],
  ['an unblock with the number of the block', { ...blocked, value: null, by: 'a2' }],
  ['another block', { ...blocked, host: '*', n: 2 }],
  ['a round', { kind: 'refresh', host: '', value: 7, n: 7, by: 'a1' }],
] as const) {
  test(`${what} after the end voids the completion record until all agents have it`, () => {
    const config = completed();
    assert.equal(judged(config).kind, 'complete');
    save(config, 'a2', directive);
    const reason = 'its blocks or its round are not those at the end of the crawl';
    const found = judged(config);
    assert.ok(found.kind === 'changed');
    assert.deepEqual(found.why, [`a2: ${reason}`]);
    save(config, 'a1', directive);
    assert.equal(judged(config).kind, 'changed');
    record(config);
    assert.equal(judged(config).kind, 'complete');
  });
}

test('a pause and a delay after the end do not void the completion record', () => {
  const config = completed();
  save(config, 'a1', { kind: 'pause', host: '', value: 1, n: 2, by: 'a1' });
  save(config, 'a1', { kind: 'delay', host: '*', value: 9, n: 3, by: 'a1' });
  assert.equal(judged(config).kind, 'complete');
});

interface End {
  /** `a2` runs at the end. */
  readonly runs?: true;
  /** `a2` saw the end of an earlier round. */
  readonly sawEarlier?: true;
  /** Another member has its state on another machine. */
  readonly elsewhere?: true;
  readonly queued?: true;
  /** Null: the end is not recorded. */
  readonly recorded: readonly string[] | null;
}

const ends: Readonly<Record<string, End>> = {
  'an agent died with all its neighbours and has queued URLs': { queued: true, recorded: null },
  'members of other machines may have done its URLs': {
    ...{ queued: true, elsewhere: true },
    recorded: ['a1', 'a2', 'b1'],
  },
  'an agent that no member knows runs until the end': { runs: true, recorded: ['a1', 'a2'] },
  'an agent saw only the end of an earlier round': { sawEarlier: true, recorded: ['a1'] },
};
for (const [what, { runs, sawEarlier, elsewhere, queued, recorded }] of Object.entries(ends)) {
  test(`kademlia: the members at the end if ${what}`, (context) => {
    const dataDir = path.join(newDirectory(), 'data');
    const config = good(`${plain}cluster: { agents: 2, overlay: kademlia }\n`, { dataDir });
    saveHistory(config, 'a1', ['join', 'complete'])();
    const kinds = ['join', ...(sawEarlier ? (['complete'] as const) : [])] as const;
    const unlock = saveHistory(config, 'a2', kinds, queued && 'http://h.test/');
    if (runs) context.after(unlock);
    else unlock();
    save(config, 'a1', { kind: 'refresh', host: '', value: 7, n: 7, by: 'a1' });
    const orders = ordersOf(dataDir, 'a1')!;
    const known = ['a1', ...(elsewhere ? ['b1'] : [])];
    const open = recordCompletion(config, { at: 0, agents: known, round: 7, orders });
    assert.deepEqual(
      open.map(({ agent, queued: urls }) => [agent, urls]),
      recorded === null ? [['a2', 1]] : [],
    );
    const completion = readCompletion(config);
    assert.deepEqual(completion.kind === 'complete' ? completion.note.agents : null, recorded);
  });
}

test('the completion record of another crawl in the directory is none', () => {
  const config = completed();
  assert.equal(judged({ ...config, name: 'other' }).kind, 'none');
  writeRefreshing(config, 7, 0);
  assert.deepEqual(judged(config), { kind: 'refreshing', round: 7 });
  assert.equal(judged({ ...config, name: 'other' }).kind, 'none');
});
