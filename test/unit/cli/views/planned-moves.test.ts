// Compares the counted moves of a leave and of another capacity with the preference lists.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { mergedMoves, plannedMoves } from '../../../../agent/cli/views/planned-moves.ts';
import { placementOf } from '../../../../agent/composition/placement.ts';
import { agentStatus } from '../agent-status.ts';
import { crawlOf } from './state-files.ts';

const ids = ['a1', 'a2', 'a3', 'a4'];
const cluster = { overlay: 'ring', replicas: 20 } as never;
const hosts = Array.from({ length: 400 }, (_, k) => `h${k}.test`);
const placed = (capacities: readonly number[], of = ids) =>
  placementOf(
    cluster,
    of.map((id, k) => ({ id, capacity: capacities[k]! })),
  );
const before = placed([1, 1, 1, 1]);

function crawl(t: TestContext) {
  const states = crawlOf(t, ids, (store, id) => {
    for (const host of hosts.filter((one) => before.owner(one) === id)) {
      store.enqueue(host, { url: `http://${host}/`, depth: 0 }, null);
    }
  });
  const card = (id: string) => ({ id, capacity: 1, joined: true, leaving: false }) as never;
  const agents = ids.map((id) =>
    agentStatus({ id, hosts: 100, members: ids.filter((one) => one !== id).map(card) }),
  );
  const moves = (id: string, capacity: number | 'default' | null) =>
    mergedMoves(plannedMoves(states.config, agents, { id, capacity }), new Map());
  return { ...states, agents, moves };
}

/** Hosts with another owner, and hosts with a backup that was neither owner nor backup. */
function expected(after: ReturnType<typeof placed>) {
  const moving = hosts.filter((host) => after.owner(host) !== before.owner(host));
  const lacking = hosts.filter((host) => !before.order(host, 2).includes(after.order(host, 2)[1]!));
  return [moving.length, lacking.length];
}

test('planned moves: a leave, a drain and each capacity move what the preference lists say', (t) => {
  const { moves } = crawl(t);
  const cases = [
    [null, placed([1, 1, 1], ['a1', 'a3', 'a4'])],
    [0, placed([1, 0, 1, 1])],
    [2, placed([1, 2, 1, 1])],
    [0.5, placed([1, 0.5, 1, 1])],
    ['default', before],
  ] as const;
  for (const [capacity, after] of cases) {
    const found = moves('a2', capacity);
    const sum = (counts: Readonly<Record<string, number>>) =>
      Object.values(counts).reduce((all, n) => all + n, 0);
    assert.deepEqual([found.hosts, found.incompleteMeanwhile], expected(after), `${capacity}`);
    assert.deepEqual([sum(found.from), sum(found.to)], [found.hosts, found.hosts]);
    assert.equal(sum(found.copiesTo), found.incompleteMeanwhile, 'one backup');
    const gives = capacity !== 2;
    const one = Object.keys(gives ? found.from : found.to);
    assert.deepEqual(one, capacity === 'default' ? [] : ['a2'], `${capacity}`);
    assert.deepEqual([found.copiesAfterwards, found.isEstimate], [1, false]);
  }
});

test('planned moves: hosts of agents on other machines are named, or known to be unknown', (t) => {
  const { moves, fileOf } = crawl(t);
  fs.rmSync(dirname(fileOf('a3')), { recursive: true });
  const more = moves('a2', 2);
  assert.deepEqual(more.uncounted, ['a3']);
  assert.equal(more.from.a3, undefined);
  assert.ok(more.hosts > 0);
  const isProblem = (code: string) => (error: unknown) =>
    error instanceof HttpProblem && error.document.code === code;
  assert.throws(() => moves('a3', null), isProblem('state-elsewhere'));
  assert.throws(() => moves('a9', null), isProblem('agent-unknown'));
});

test('planned moves: what other machines count of their agents is added', (t) => {
  const { agents, config, fileOf } = crawl(t);
  const query = { id: 'a2', capacity: 0 };
  const whole = plannedMoves(config, agents, query);
  const ofOne = ids.map((of) => [of, plannedMoves(config, agents, { ...query, of })] as const);
  fs.rmSync(dirname(fileOf('a2')), { recursive: true });
  fs.rmSync(dirname(fileOf('a4')), { recursive: true });
  const here = plannedMoves(config, agents, query);
  assert.deepEqual(here.uncounted, ['a2', 'a4']);
  const theirs = ofOne.filter(([id]) => here.uncounted.includes(id));
  assert.deepEqual(mergedMoves(here, new Map(theirs)), whole);
});

test('planned moves: of many hosts some are placed, and the result is an estimate', (t) => {
  const { agents, config } = crawl(t);
  const many = agents.map((agent) => ({ ...agent, hosts: 100_000 }));
  const { hosts: moved, isEstimate } = plannedMoves(config, many, { id: 'a2', capacity: null });
  assert.ok(isEstimate);
  const exact = plannedMoves(config, agents, { id: 'a2', capacity: null }).hosts;
  assert.ok(moved > exact / 2 && moved < exact * 2, `${moved} of ${exact}`);
});
