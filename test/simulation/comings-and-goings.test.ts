// Hosts that leave an agent and come back to it, at moments that the other cases do not meet: while
// the agent still has something in mind of the time before. Each was once a crawl that ended in a
// crash, or never. (That they come back within their delay is `visits-dropped` in schedules.ts.)

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../agent/core/messages.ts';
import { cluster, joinAndLeave } from './case-kit.ts';
import type { Cluster } from './cluster.ts';

/** As if the host had been asked for its robots.txt once more. */
function answerRobots(c: Cluster, id: AgentId, host: string, isThere: boolean): void {
  const { store } = c.agents.get(id)!;
  const { number } = store.host(host);
  const origin = `http://${host}`;
  const now = c.instant(id).mono;
  const body = isThere ? Buffer.from('User-agent: *') : null;
  const kind = isThere ? ('rules' as const) : ('unreachable' as const);
  const trouble = isThere ? { attempts: 0, retryAt: 0 } : { attempts: 1, retryAt: now + 60_000 };
  store.begin();
  store.saveRobots(number, origin, { kind, fetchedAt: now, body, ...trouble, reason: '' });
  store.commit(false);
}

describe('comings and goings', () => {
  it('hosts that go and come back while all is paused are crawled on', () => {
    const c = cluster(['a1', 'a2', 'a3'], { backups: 0 }, 20, 6);
    c.start('a1');
    c.start('a2');
    c.runUntil('the crawl is on its way', () => c.log.length >= 20);
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

  it('a host whose robots.txt cannot be had any more goes to a joiner like any other', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a1');
    c.start('a2');
    c.runUntil('the crawl is on its way', () => c.log.length >= 200);
    const hosts = [...new Set(c.log.map(({ url }) => new URL(url).hostname))];
    const moving = hosts.filter((host) => c.order(host, ['a1', 'a2', 'a3'])[0] === 'a3');
    assert.ok(moving.length > 0);
    const ownerOf = (host: string) => c.order(host, ['a1', 'a2'])[0]!;
    for (const host of moving) answerRobots(c, ownerOf(host), host, true);
    // The backup acknowledges, and the events need not be kept at hand.
    c.run(200);
    for (const host of moving) answerRobots(c, ownerOf(host), host, false);
    c.start('a3');
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });
});
