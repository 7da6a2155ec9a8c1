// Hosts that leave an agent and return to it while the agent still has state from before. Each case
// once made a crawl crash or never end. (For a return within the delay see `visits-dropped` in
// schedules.ts.)

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { cluster, joinAndLeave } from './case-kit.ts';
import type { Cluster } from './cluster.ts';

/** As if robots.txt of the host had been requested once more. */
function answerRobots(c: Cluster, id: AgentId, host: string, isThere: boolean): void {
  const { store } = c.agents.get(id)!;
  const { number } = store.host(host);
  const origin = `http://${host}`;
  const now = c.instant(id).mono;
  const body = isThere ? Buffer.from('User-agent: *') : null;
  const kind = isThere ? ('rules' as const) : ('unreachable' as const);
  const trouble = isThere ? { attempts: 0, retryAt: 0 } : { attempts: 1, retryAt: now + 5000 };
  store.begin();
  store.saveRobots(number, origin, { kind, fetchedAt: now, body, ...trouble, reason: '' });
  store.commit(false);
}

describe('hosts that leave and return', () => {
  it('hosts that move to another agent and back during a pause are crawled after it', () => {
    const c = cluster(['a1', 'a2', 'a3'], { backups: 0 }, 20, 6);
    c.start('a1');
    c.start('a2');
    c.runUntil('the crawl is running', () => c.log.length >= 20);
    const order = (kind: 'pause', value: 1 | null) => {
      const { core, inputs } = c.agents.get('a1')!;
      const now = () => c.instant('a1');
      inputs.push(() => core.operator.give({ kind, host: '', value }, now(), () => {}));
    };
    order('pause', 1);
    c.run(500);
    const asked = c.log.length;
    joinAndLeave(c, 'a3');
    joinAndLeave(c, 'a3');
    c.run(500);
    assert.equal(c.log.length, asked);
    order('pause', null);
    c.runToEnd();
    assert.equal(c.fetched().size, 120);
    assert.deepEqual(c.impolite(), []);
  });

  it('the views of all agents together never lose a page while agents join and leave', () => {
    const c = cluster(['a1', 'a2', 'a3'], { backups: 1 }, 20, 6);
    c.start('a1');
    c.start('a2');
    c.runUntil('the crawl is running', () => c.log.length >= 40);
    c.start('a3');
    let shown = new Set<string>();
    const neverLess = () => {
      const reads = [...c.disks.values()].map(({ db }) => {
        return db.prepare<[], string>('SELECT url FROM pages').pluck();
      });
      const now = new Set(reads.flatMap((read) => read.all()));
      for (const url of shown) assert.ok(now.has(url), `${url} is in no view`);
      shown = now;
    };
    const until = (what: string, holds: () => boolean, ms: number) => {
      c.runUntil(
        what,
        () => {
          neverLess();
          return holds();
        },
        ms,
      );
    };
    const isIn = () => c.snapshot('a3').joined && c.snapshot('a3').handOff.awaited === 0;
    until('a3 has its hosts', isIn, 10_000);
    const agent = c.agents.get('a3')!;
    agent.inputs.push(() => agent.core.leave(c.instant('a3')));
    until('a3 has left', () => agent.end !== null, 40_000);
    until('all ended', () => c.living().length === 0, 60_000);
    assert.equal(shown.size, 120);
  });

  it('a host with an unreachable robots.txt moves to a joining agent like any other', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a1');
    c.start('a2');
    c.runUntil('the crawl is running', () => c.log.length >= 200);
    const hosts = [...new Set(c.log.map(({ url }) => new URL(url).hostname))];
    const moving = hosts.filter((host) => c.order(host, ['a1', 'a2', 'a3'])[0] === 'a3');
    assert.ok(moving.length > 0);
    const ownerOf = (host: string) => c.order(host, ['a1', 'a2'])[0]!;
    for (const host of moving) answerRobots(c, ownerOf(host), host, true);
    // The backup acknowledges, so the events need not be kept in memory.
    c.run(200);
    for (const host of moving) answerRobots(c, ownerOf(host), host, false);
    c.start('a3');
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });

  it('starting agents claim no copied hosts before they have met, even during a refresh', () => {
    const c = cluster(['a1', 'a2', 'a3'], {}, 20, 6);
    c.startAll();
    c.runToEnd();
    c.startAll();
    const claims: number[] = [];
    for (const { id, core, inputs } of c.living()) {
      inputs.push(() => core.operator.refresh(1, c.instant(id)));
    }
    while (c.living().some(({ id }) => !c.snapshot(id).joined)) {
      c.run(1);
      claims.push(c.living().reduce((sum, { store }) => sum + store.owned().hosts, 0));
    }
    assert.ok(claims.length > 1);
    assert.deepEqual(
      claims.filter((hosts) => hosts !== 20),
      [],
    );
    c.runToEnd();
  });
});
