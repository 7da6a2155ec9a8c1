import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { mock, type TestContext, test } from 'node:test';
import { isLocked } from '../../../../agent/cli/common/running.ts';
import {
  readCompletion,
  recordCompletion,
} from '../../../../agent/cli/state-files/completion-file.ts';
import {
  directedMembers,
  directivesInForce,
  mayBeInForce,
  takeBack,
} from '../../../../agent/cli/state-files/stored-directives.ts';
import type { Directive } from '../../../../agent/core/protocol/messages.ts';
import { lockDirectory, lockFile, openState } from '../../../../agent/storage/file/database.ts';
import { DirectiveTable } from '../../../../agent/storage/tables/directive-table.ts';
import type { Config } from '../../../../config/config.ts';
import { good, newDirectory, plain } from '../../config/written-config.ts';

const pause: Directive = { kind: 'pause', host: '', value: 1, n: 1, by: 'a1' };
const all: Directive = { kind: 'block', host: '*', value: 1, n: 2, by: 'a1' };
const words = ({ kind, host }: Directive) => ({ kind, host });

/** A crawl whose agents a1 and a2 ended while these directives were in force. */
function crawlWith(...orders: Directive[]): Config {
  const dataDir = path.join(newDirectory(), 'data');
  const config = good(`${plain}cluster: { agents: 2 }\n`, { dataDir });
  for (const agent of ['a1', 'a2']) {
    inState(config, agent, (table) => {
      for (const order of orders) table.saveDirective(order, 0);
    });
  }
  recordCompletion(config, { at: 0, agents: ['a1', 'a2'] });
  return config;
}

function inState<T>(config: Config, agent: string, act: (table: DirectiveTable) => T): T {
  const directory = path.join(config.agent.dataDir, agent);
  const state = openState({ directory, crawl: config.name, agent });
  assert.ok(state.ok);
  try {
    return act(new DirectiveTable(state.db));
  } finally {
    state.db.close();
    state.unlock();
  }
}

function ordersOf(config: Config): Directive[][] {
  return ['a1', 'a2'].map((agent) => inState(config, agent, (table) => table.directives()));
}

/** Makes these writes of directives, counted from one, fail as on a full disk. */
function fillDisk(t: TestContext, ...writes: number[]): void {
  const { saveDirective: saveOrder } = DirectiveTable.prototype;
  let count = 0;
  const save = mock.method(DirectiveTable.prototype, 'saveDirective', function (...args) {
    if (writes.includes(++count)) {
      throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    }
    saveOrder.apply(this as DirectiveTable, args);
  } satisfies (this: unknown, ...args: Parameters<typeof saveOrder>) => void);
  t.after(() => save.mock.restore());
}

test('takes a directive back in all states, and with a block also the completion record', () => {
  const config = crawlWith(all);
  const { agents, failure, stillBlockedBy } = takeBack(config, words(all));
  assert.deepEqual([agents, failure, stillBlockedBy], [['a1', 'a2'], null, undefined]);
  const after = { ...all, value: null, n: 3 };
  assert.deepEqual(ordersOf(config), [[after], [after]]);
  assert.deepEqual(fs.readdirSync(config.agent.dataDir).sort(), ['a1', 'a2', 'launch.lock']);
});

test("a copy of an agent's directory beside it is not among the states", () => {
  const config = crawlWith(all);
  const { dataDir } = config.agent;
  fs.cpSync(path.join(dataDir, 'a1'), path.join(dataDir, 'A1-old'), { recursive: true });
  const { agents, failure } = takeBack(config, words(all));
  assert.deepEqual([agents, failure], [['a1', 'a2'], null]);
  assert.deepEqual(directivesInForce(config), []);
});

test('on a full disk, changes nothing, not even the completion record', (t) => {
  const config = crawlWith(all);
  const before = ordersOf(config);
  fillDisk(t, 1);
  const { agents, failure } = takeBack(config, words(all));
  assert.deepEqual([agents, failure?.code], [[], 3]);
  assert.match(failure!.message, /disk full: .*a1/);
  assert.deepEqual(ordersOf(config), before);
  assert.equal(readCompletion(config).kind, 'complete');
});

test('keeps the change of the first state if the disk is full for the second', (t) => {
  const config = crawlWith(all);
  fillDisk(t, 2);
  const { agents, failure } = takeBack(config, words(all));
  assert.deepEqual([agents, failure?.code], [['a1'], 3]);
  assert.match(failure!.message, /disk full: .*a2/);
  assert.equal(readCompletion(config).kind, 'none');
});

test('names a state that cannot be read, and changes nothing', () => {
  const config = crawlWith(pause);
  const before = ordersOf(config)[0];
  const file = path.join(config.agent.dataDir, 'a2', 'state.sqlite');
  const sound = fs.readFileSync(file);
  for (const damaged of [Buffer.alloc(0), Buffer.alloc(8192, 'x')]) {
    fs.writeFileSync(file, damaged);
    const { agents, failure } = takeBack(config, words(pause));
    assert.deepEqual([agents, failure?.code], [[], 4]);
    assert.match(failure!.message, /^a2: .*a2\/state\.sqlite is damaged/);
    assert.doesNotMatch(failure!.message, /not paused/);
  }
  fs.writeFileSync(file, sound);
  assert.deepEqual(ordersOf(config)[0], before);
  assert.equal(takeBack(config, words(all)).failure?.code, 1);
});

test('names no other directory if an agent has just started', () => {
  const config = crawlWith(pause);
  const lock = lockDirectory(path.join(config.agent.dataDir, 'a2'));
  assert.ok(lock.ok);
  const { agents, failure } = takeBack(config, words(pause));
  lock.unlock();
  assert.deepEqual([agents, failure?.code], [[], 4]);
  assert.match(failure!.message, /a2: an agent starts, ends or does not answer; try again$/);
  assert.deepEqual(ordersOf(config), [[pause], [pause]]);
});

test('takes a directive back under the launch lock, and refuses if a launch holds it', (t) => {
  const config = crawlWith(pause);
  const { dataDir } = config.agent;
  const { saveDirective: saveOrder } = DirectiveTable.prototype;
  const held: boolean[] = [];
  const save = mock.method(DirectiveTable.prototype, 'saveDirective', function (...args) {
    held.push(isLocked(dataDir, 'launch.lock'));
    saveOrder.apply(this as DirectiveTable, args);
  } satisfies (this: unknown, ...args: Parameters<typeof saveOrder>) => void);
  t.after(() => save.mock.restore());
  const lock = lockFile(dataDir, 'launch.lock', () => 'held');
  assert.ok(lock.ok);
  const refused = takeBack(config, words(pause));
  lock.unlock();
  assert.deepEqual([refused.agents, refused.failure?.code], [[], 4]);
  assert.match(refused.failure!.message, /launch is just starting the agents/);
  assert.deepEqual(takeBack(config, words(pause)).agents, ['a1', 'a2']);
  assert.deepEqual(held, [true, true]);
});

test('reports that another pattern still blocks the host', () => {
  const host: Directive = { ...all, host: 'x.test', n: 3 };
  const config = crawlWith(all, host);
  assert.equal(takeBack(config, words(host)).stillBlockedBy, '*');
  assert.equal(takeBack(config, words(all)).stillBlockedBy, undefined);
});

test('names the pattern that blocks a host which has no block of its own', () => {
  const { failure } = takeBack(crawlWith(all), words({ ...all, host: 'x.test' }));
  assert.equal(failure?.code, 1);
  assert.match(
    failure.message,
    /nothing to end\nx\.test is blocked by \*: undo that block\nin force/,
  );
});

test('stored directives: capacities in force replace those of the config, and drained agents have none', () => {
  const of = (kind: Directive['kind'], host: string, value: number | null, n: number) =>
    ({ kind, host, value, n, by: 'a1' }) as const;
  const capacities = (...orders: Directive[]) => {
    const config = crawlWith(...orders);
    const members = ['a1', 'a2'].map((id) => ({ id, capacity: 1 }));
    const [ring, kademlia] = (['ring', 'kademlia'] as const).map((overlay) => {
      const cluster = { ...config.cluster, overlay };
      return directedMembers({ ...config, cluster }, members).map(({ capacity }) => capacity);
    });
    assert.deepEqual(ring, kademlia);
    return ring;
  };
  assert.deepEqual(capacities(pause), [1, 1]);
  assert.deepEqual(capacities(of('capacity', 'a1', 2, 3), of('drain', 'a2', 1, 4)), [2, 0]);
  assert.deepEqual(capacities(of('capacity', 'a1', null, 3), of('drain', 'a2', null, 4)), [1, 1]);
});

test('stored directives: those of agents are listed with the command that revokes them', () => {
  const by = 'a2';
  const lines = directivesInForce(
    crawlWith(
      { kind: 'drain', host: 'a1', value: 1, n: 3, by },
      { kind: 'capacity', host: 'a2', value: 0.5, n: 2, by },
      { kind: 'threads', host: '*', value: 9, n: 1, by },
    ),
  );
  const said = [
    /^in force: drain a1, given by a2; to revoke it: .+ undrain \S+ a1$/,
    /^in force: capacity a2 0\.5, given by a2; to revoke it: .+ capacity \S+ a2 default$/,
    /^in force: threads all 9, given by a2; to revoke it: .+ threads \S+ all default$/,
  ];
  assert.equal(lines.length, said.length);
  for (const [i, line] of lines.entries()) assert.match(line, said[i]!);
});

test('stored directives: one of an agent that the config no longer lists may be in force', () => {
  const drain: Directive = { kind: 'drain', host: 'a9', value: 1, n: 3, by: 'a1' };
  const config = crawlWith(drain);
  assert.equal(mayBeInForce(config, words(drain)), true);
  assert.equal(mayBeInForce(config, { kind: 'drain', host: 'a8' }), false);
  assert.equal(mayBeInForce(config, { kind: 'capacity', host: 'a9' }), false);
  fs.writeFileSync(path.join(config.agent.dataDir, 'a2', 'state.sqlite'), 'damaged');
  assert.equal(mayBeInForce(config, { kind: 'drain', host: 'a8' }), true);
});

test('directives: a delay below a second is shown as it is', () => {
  const delay: Directive = { kind: 'delay', host: 'a.example', value: 900, n: 3, by: 'a1' };
  const [line] = directivesInForce(crawlWith(delay));
  assert.match(line!, /^in force: delay a\.example 900 ms, given by a1; /);
});
