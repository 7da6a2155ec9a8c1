// The flows of Tao and Xiang (2016) on real cores with partial views, step by step: a task, a join,
// a leave and a crash, one after the other in the same cluster. Each step has the paper's name for
// it; docs/OVERLAY.md has the messages that implement the operations.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { SUSPECT_MS } from '../cluster.ts';
import {
  BOOTSTRAP,
  COPIES,
  closestTo,
  FINDERS,
  firstName,
  identifierOf,
  keyOf,
  PaperStage,
} from '../paper-stage.ts';
import { HEARTBEAT_MS } from '../process.ts';

const [FIRST, SECOND, THIRD] = FINDERS;
const isOneOf = (ids: readonly string[]) => (id: string) => ids.includes(id);

describe('the flows of the paper', () => {
  let stage: PaperStage;
  before(() => {
    stage = new PaperStage();
  });

  test('task: a page links to URLs whose closest agents its own agent does not know', async (t) => {
    const known = [FIRST, ...stage.viewOf(FIRST)];
    const host = stage.hostWhere((ranks) => !ranks.slice(0, COPIES + 1).some(isOneOf(known)));
    const ranks = closestTo(keyOf(host), stage.ids);
    const [target = '', ...others] = ranks;
    const backups = others.slice(0, COPIES);
    const tasks = stage.tasks(host, 6);
    const since = stage.now;
    stage.give(FIRST, tasks);
    stage.link(SECOND, tasks);
    stage.cluster.run(400);
    const early = stage.visits(host).length;
    stage.until('the tasks are executed', () => stage.visits(host).length >= 6);
    stage.link(THIRD, tasks);
    stage.cluster.run(1000);
    const storeTask = (from: string) => {
      return stage.sent('URLS', since, { from }).filter(({ message: { urls } }) => {
        return urls.some(({ url }) => tasks.includes(url));
      });
    };
    const answers = (from: string) => {
      const batches = storeTask(from).map(({ message }) => message.batch);
      const acks = stage.sent('URLS_ACK', since, { from: target, to: from });
      return acks.filter(({ message }) => batches.includes(message.batch));
    };

    await t.test('task 1: FIND_NODE of the key gives the closest agent', () => {
      const asked = stage.sent('FIND_NODE', since, { from: FIRST }).filter(({ message }) => {
        return message.key === keyOf(host);
      });
      const told = stage.sent('FOUND_NODES', since, { to: FIRST }).filter(({ message }) => {
        return message.key === keyOf(host);
      });
      assert.ok(asked.length < stage.ids.length - 1, 'not all agents are asked');
      assert.ok(told.some(({ message }) => message.agents.some(({ id }) => id === target)));
      assert.ok(told.some(({ from }) => from === target));
      const [store] = storeTask(FIRST);
      assert.ok(told.at(-1)!.index < store!.index, 'the look-up comes before STORE_TASK');
    });
    await t.test('task 2: the closest agent, and no other, receives STORE_TASK', () => {
      for (const finder of FINDERS) {
        const to = new Set(storeTask(finder).map((sent) => sent.to));
        assert.deepEqual([...to], [target], finder);
        const named = storeTask(finder).flatMap(({ message }) => message.urls);
        assert.deepEqual([...new Set(named.map(({ url }) => url))].sort(), tasks, finder);
      }
    });
    await t.test('task 3: the next closest agents, and no others, receive STORE_BACKUP', () => {
      const copies = stage.copies(host, since);
      assert.deepEqual([...new Set(copies.map(({ to }) => to))].sort(), backups.toSorted());
      assert.deepEqual([...new Set(copies.map(({ from }) => from))], [target]);
      const holders = stage.ids.filter((id) => stage.rows(id, host).length > 0);
      assert.deepEqual(holders.sort(), [target, ...backups].sort());
    });
    await t.test('task 4: STORE_TASK is acknowledged after the copies are', () => {
      const [ack] = answers(FIRST);
      for (const backup of backups) {
        const copies = stage.copies(host, since, { to: backup }).filter(({ ack: at }) => {
          return at !== undefined && at.index < ack!.index;
        });
        const copied = copies.flatMap(({ events }) => events).filter((e) => e.kind === 'found');
        assert.equal(copied.length, tasks.length, backup);
      }
      assert.deepEqual(ack!.message.notMine, []);
    });
    await t.test('task 5: the target queues a task only if it is new', () => {
      // The second finder asked while tasks were queued, the third when all were finished.
      assert.ok(early > 0 && early < tasks.length, `${early} were executed`);
      for (const finder of FINDERS) assert.ok(answers(finder).length > 0, finder);
      const events = stage.copies(host, since).flatMap((copy) => copy.events);
      const found = events.filter(({ kind }) => kind === 'found');
      assert.equal(found.length, tasks.length * COPIES);
      assert.deepEqual(stage.queued(target, host), []);
    });
    await t.test('task 6: the target, and no other, executes each task once', () => {
      const visits = stage.visits(host);
      assert.deepEqual(visits.map(({ url }) => url).sort(), tasks);
      assert.deepEqual([...new Set(visits.map(({ by }) => by))], [target]);
      assert.deepEqual(stage.cluster.impolite(), []);
    });
    await t.test('task 7: the record is written, and replaces the tasks of the backups', () => {
      for (const id of [target, ...backups]) {
        const states = stage.rows(id, host).map(({ url, state }) => `${url} ${state}`);
        assert.deepEqual(
          states.sort(),
          tasks.map((url) => `${url} response`),
          id,
        );
      }
    });
  });

  test('join: an agent that knows only the bootstrap agent', async (t) => {
    const before = stage.ids;
    // A new agent far from the bootstrap agent, and a host that it is to take over.
    const joiner = firstName('joiner', (id) => {
      const near = closestTo(identifierOf(id), before).slice(0, 8);
      return ![BOOTSTRAP, ...FINDERS].some(isOneOf(near));
    });
    const after = [...before, joiner];
    const host = stage.hostWhere(([first]) => first === joiner, after);
    const ranks = closestTo(keyOf(host), before);
    const former = ranks[0]!;
    // The joiner takes the place of the last backup.
    const [kept, displaced] = [ranks.slice(0, COPIES), ranks[COPIES]!];
    const stays = stage.hostWhere(([first, next]) => first === former && next === joiner, after);
    const tasks = stage.tasks(host, 30);
    stage.give(FIRST, [...tasks, ...stage.tasks(stays, 30)]);
    const since = stage.now;
    stage.cluster.start(joiner);
    stage.until('joined', () => stage.cluster.snapshot(joiner).joined);
    const joinedAt = stage.now;
    stage.until('executed', () => stage.visits(host).length >= tasks.length);
    const lists = stage.sent('LIST', since, { to: joiner });
    const yields = stage.sent('YIELD', since, { from: former, to: joiner }).filter((sent) => {
      return sent.message.items.some((item) => item.host === host && !item.withdrawn);
    });
    const answers = stage.sent('YIELD_ACK', since, { from: joiner }).flatMap((sent) => {
      const item = sent.message.items.find((one) => one.host === host);
      return item ? [{ ...sent, keep: item.keep }] : [];
    });

    await t.test('join 1: it begins with the bootstrap agent alone', () => {
      const all = stage.cluster.sent.filter(({ at }) => at >= since);
      const first = all.findIndex(({ to }) => to === joiner);
      const begun = all.slice(0, first).filter(({ from }) => from === joiner);
      assert.deepEqual([...new Set(begun.map(({ to }) => to))], [BOOTSTRAP]);
    });
    await t.test('join 2: FIND_NODE of its own identifier reaches the closest agents', () => {
      const asked = stage.sent('FIND_NODE', since, { from: joiner }).filter(({ at, message }) => {
        return at < joinedAt && message.key === identifierOf(joiner);
      });
      assert.equal(asked[0]?.to, BOOTSTRAP);
      const told = stage.sent('FOUND_NODES', since, { to: joiner }).filter(({ at, message }) => {
        return at < joinedAt && message.key === identifierOf(joiner);
      });
      const near = closestTo(identifierOf(joiner), before).slice(0, COPIES + 1);
      for (const id of near)
        assert.ok(
          told.some(({ from }) => from === id),
          id,
        );
    });
    await t.test('join 3: it knows its neighbours, and not all agents', () => {
      const known = stage.viewOf(joiner);
      for (const id of [...ranks.slice(0, COPIES + 1)]) assert.ok(known.includes(id), id);
      assert.ok(known.length < before.length / 2, `${known.length} agents`);
    });
    await t.test('join 4: REFRESH_TASK: each neighbour lists what is closer to the joiner', () => {
      const late = stage.viewOf(joiner).filter((id) => {
        return !lists.some(({ from, at, message }) => from === id && at < joinedAt && message.last);
      });
      assert.deepEqual(late, []);
      const named = new Set(lists.flatMap(({ message }) => message.hosts));
      assert.deepEqual([...named], [host]);
      for (const id of [...kept, displaced]) {
        assert.ok(lists.some(({ from, message }) => from === id && message.hosts.includes(host)));
      }
    });
    await t.test('join 5: STORE_TASK: the queued tasks are handed over before the release', () => {
      const [released] = yields;
      const handed = stage.copies(host, since, { from: former, to: joiner });
      const before = handed.filter(({ ack }) => ack && ack.index < released!.index);
      const found = before.flatMap(({ events }) => events.filter(({ kind }) => kind === 'found'));
      assert.equal(found.length, tasks.length);
    });
    await t.test('join 6: the joiner executes them after the release', () => {
      const visits = stage.visits(host);
      assert.deepEqual(visits.map(({ url }) => url).sort(), tasks.toSorted());
      const released = yields[0]!.at;
      const own = visits.filter(({ by }) => by === joiner);
      assert.ok(own.length > 0 && own.every(({ start }) => start > released));
      const rest = visits.filter(({ by }) => by !== joiner);
      assert.ok(rest.every(({ by, end }) => by === former && end <= released));
      assert.ok(
        stage.visits(stays).every(({ by }) => by === former),
        'it keeps what is closer',
      );
      assert.deepEqual(stage.cluster.impolite(), []);
    });
    await t.test('join 7: DELETE_BACKUP: the agent that is no backup any more deletes it', () => {
      const deletions = answers.filter(({ keep }) => !keep);
      assert.deepEqual([...new Set(deletions.map(({ to }) => to))], [displaced]);
      for (const id of kept) {
        const [copy] = stage.copies(host, since, { from: joiner, to: id });
        const isMarked = stage.sent('ROWS_ACK', since, { from: id, to: joiner }).some((ack) => {
          return ack.index < deletions[0]!.index && ack.message.items.some((i) => i.host === host);
        });
        assert.ok(copy && isMarked, `${id} answered before the deletion`);
        assert.equal(stage.rows(id, host).length, tasks.length, id);
      }
      assert.deepEqual(stage.rows(displaced, host), []);
    });
  });

  test('leave: an agent with tasks of its own and copies for others', async (t) => {
    const before = stage.ids;
    const isFree = (id: string) => ![BOOTSTRAP, ...FINDERS].some(isOneOf([id]));
    const host = stage.hostWhere((ranks) => ranks.slice(0, COPIES + 2).every(isFree));
    const [leaver = '', ...rest] = closestTo(keyOf(host), before);
    const copied = stage.hostWhere(([first = '', next]) => isFree(first) && next === leaver);
    const [keeper = '', , ...others] = closestTo(keyOf(copied), before);
    const tasks = stage.tasks(host, 30);
    const copies = stage.tasks(copied, 30);
    stage.give(FIRST, [...tasks, ...copies]);
    stage.cluster.run(500);
    const since = stage.now;
    const queued = stage.queued(leaver, host);
    const agent = stage.cluster.agents.get(leaver)!;
    agent.inputs.push(() => agent.core.leave(stage.cluster.instant(leaver)));
    stage.until('the leaver has exited', () => agent.end !== null);
    const exitedAt = stage.now;
    const rowsThen = (id: string, of: string) => stage.rows(id, of).length;
    const held = [...rest.slice(0, COPIES + 1)].map((id) => [id, rowsThen(id, host)]);
    const heldCopies = [keeper, ...others.slice(0, COPIES)].map((id) => [id, rowsThen(id, copied)]);
    stage.until('executed', () => stage.visits(host).length >= tasks.length);
    const successor = rest[0]!;
    const listed = (of: string) => {
      const lists = stage.sent('LIST', since, { from: leaver });
      const parts = lists.filter(({ message }) => message.hosts.includes(of));
      return [...new Set(parts.map(({ to }) => to))];
    };
    const released = stage.sent('YIELD', since, { from: leaver, to: successor }).find((sent) => {
      return sent.message.items.some((item) => item.host === host && !item.withdrawn);
    });

    await t.test('leave 1: STORE_TASK: the agent that is closest now gets each queued task', () => {
      assert.ok(queued.length > 20, `${queued.length} tasks are queued`);
      assert.deepEqual(listed(host), [successor]);
      assert.ok(released !== undefined && released.at <= exitedAt);
      const sent = stage.visits(host, since).filter(({ by }) => by === leaver);
      assert.ok(sent.every(({ end }) => end <= released.at));
    });
    await t.test('leave 2: the other copies of its tasks are complete before it exits', () => {
      assert.deepEqual(
        held,
        rest.slice(0, COPIES + 1).map((id) => [id, tasks.length]),
      );
      const taken = rest[COPIES]!;
      assert.ok(stage.copies(host, since, { from: successor, to: taken }).length > 0);
    });
    await t.test(
      'leave 3: each copy that it held: the closest keeps the task, another copies',
      () => {
        assert.deepEqual(listed(copied), [keeper]);
        const taken = others[COPIES - 1]!;
        const stored = stage.copies(copied, since, { from: keeper, to: taken });
        assert.ok(stored.some(({ at }) => at < exitedAt));
        assert.deepEqual(
          heldCopies,
          [keeper, ...others.slice(0, COPIES)].map((id) => [id, copies.length]),
        );
      },
    );
    await t.test('leave 4: then it exits, after all has been acknowledged', () => {
      assert.equal(agent.end?.code, 0);
      assert.equal(agent.end?.left, true);
      const said = stage.sent('LEAVE', since, { from: leaver });
      assert.ok(said.length > 0);
      const acks = stage.sent('YIELD_ACK', since, { to: leaver }).filter(({ index }) => {
        return index < said[0]!.index;
      });
      const hosts = acks.flatMap(({ message }) => message.items.map((item) => item.host));
      for (const name of [host, copied]) assert.ok(hosts.includes(name), name);
      // No suspicion was needed.
      assert.ok(exitedAt - since < SUSPECT_MS, `${exitedAt - since} ms`);
    });
    await t.test('leave 5: the agent that is closest now executes the tasks, each once', () => {
      const visits = stage.visits(host);
      assert.deepEqual(visits.map(({ url }) => url).sort(), tasks.toSorted());
      const by = new Set(visits.filter(({ start }) => start > released!.at).map((v) => v.by));
      assert.deepEqual([...by], [successor]);
      assert.deepEqual(stage.cluster.impolite(), []);
    });
  });

  test('crash: an agent with queued tasks ends without a word', async (t) => {
    const isFree = (id: string) => ![BOOTSTRAP, ...FINDERS].some(isOneOf([id]));
    const host = stage.hostWhere((ranks) => ranks.slice(0, COPIES + 2).every(isFree));
    const [victim = '', ...rest] = closestTo(keyOf(host), stage.ids);
    const [successor = '', ...backups] = rest.slice(0, COPIES + 1);
    const tasks = stage.tasks(host, 30);
    stage.give(FIRST, tasks);
    stage.cluster.run(500);
    const since = stage.now;
    stage.cluster.kill(victim);
    const recorded = stage.rows(successor, host).filter(({ state }) => state === 'response');
    const queued = rest.slice(0, COPIES).map((id) => stage.queued(id, host));
    const before = stage.visits(host).length;
    // The last heartbeat of the victim may be that old.
    stage.cluster.run(SUSPECT_MS - HEARTBEAT_MS);
    const unsuspected = stage.visits(host).length;
    stage.until('executed', () => {
      const asked = new Set(stage.visits(host, since).map(({ url }) => url));
      return queued[0]!.every((url) => asked.has(url));
    });
    stage.cluster.run(500);

    await t.test('crash 1: the backups have its queued tasks', () => {
      for (const urls of queued) assert.ok(urls.length >= 20, `${urls.length} tasks`);
    });
    await t.test('crash 2: no backup is executed while its owner is not suspected', () => {
      assert.ok(before > 0);
      assert.equal(unsuspected, before);
    });
    await t.test('crash 3: the agents that knew it remove it when they suspect it', () => {
      for (const id of [successor, ...backups]) {
        assert.ok(!stage.viewOf(id).includes(victim), id);
        const suspicions = stage.suspicions(id).filter((name) => name === victim);
        assert.equal(suspicions.length, 1, id);
      }
    });
    await t.test('crash 4: the agent that is closest now executes each queued task', () => {
      const visits = stage.visits(host, since);
      assert.deepEqual([...new Set(visits.map(({ by }) => by))], [successor]);
      assert.deepEqual([...new Set(visits.map(({ url }) => url))].length, visits.length);
      const again = visits.filter(({ url }) => recorded.some((row) => row.url === url));
      assert.ok(recorded.length > 0, 'the backup had records');
      assert.deepEqual(again, [], 'what the record has is not executed again');
      assert.deepEqual(stage.cluster.impolite(), []);
    });
    await t.test('crash 5: STORE_BACKUP: the next closest agent gets the copies', () => {
      const taken = backups[COPIES - 1]!;
      assert.ok(stage.copies(host, since, { from: successor, to: taken }).length > 0);
      for (const id of [successor, ...backups]) {
        const open = stage.rows(id, host).filter(({ state }) => state !== 'response');
        assert.equal(stage.rows(id, host).length, tasks.length, id);
        assert.deepEqual(open, [], id);
      }
    });
  });
});
