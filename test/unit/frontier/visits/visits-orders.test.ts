// Tests the effect of directives and of the scope on the visits of one agent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Identity, RequestForm } from '../../../../agent/url/crawl-url.ts';
import { OneAgent, type Options } from '../one-agent.ts';

const page = (n: number, host = 'a.test') => `http://${host}/${n}`;

function agentWith(options: Partial<Options> = {}): OneAgent {
  return new OneAgent({ web: () => ({ status: 200 }), ...options });
}

function order(agent: OneAgent, host: string): void {
  agent.visits.recheck(host, agent.instant());
}

test('orders: the queue of a blocked host is skipped, and other hosts are crawled', () => {
  const agent = agentWith();
  agent.find(page(1), page(2), page(3), page(1, 'b.test'));
  agent.run(500);
  agent.blocked.add('a.test');
  order(agent, 'a.test');
  agent.run();
  assert.deepEqual(agent.asked(), [page(1), page(1, 'b.test')]);
  assert.deepEqual(agent.skipped(), { [page(2)]: 'blocked', [page(3)]: 'blocked' });
  agent.checkAccounts();
});

test('orders: a blocked host in a long back-off is skipped at once', () => {
  const web: Options['web'] = () => ({ status: 503, retryAfterMs: 3_600_000 });
  const agent = agentWith({ web });
  agent.find(page(1), page(2));
  agent.run(5000);
  agent.blocked.add('a.test');
  order(agent, 'a.test');
  agent.run(100);
  assert.deepEqual(Object.keys(agent.skipped()), [page(1), page(2)]);
  assert.ok(agent.visits.isEmpty());
});

test('orders: URLs found on a blocked host are skipped without a request', () => {
  const agent = agentWith({ robots: true });
  agent.blocked.add('a.test');
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.asked('any'), []);
  assert.deepEqual(agent.skipped(), { [page(1)]: 'blocked' });
});

test('orders: after a block is withdrawn, new URLs of the host are crawled', () => {
  const agent = agentWith();
  agent.blocked.add('a.test');
  agent.find(page(1));
  agent.run();
  agent.blocked.delete('a.test');
  order(agent, 'a.test');
  agent.find(page(2));
  agent.run();
  assert.deepEqual(agent.asked(), [page(2)]);
  assert.deepEqual(agent.skipped(), { [page(1)]: 'blocked' });
});

test('scope: is checked again before each request, for the URL and for the form that is sent', () => {
  const seen: string[] = [];
  const agent = agentWith({
    robots: true,
    web: ({ kind }) => (kind === 'robots' ? { robots: '' } : { status: 200 }),
    scope: {
      covers: (host) => host !== 'c.test',
      admits: (_, { url, fetchUrl }) => {
        seen.push(fetchUrl ?? url);
        return !url.includes('/2') && !fetchUrl?.includes('sid=');
      },
    },
  });
  const session = { url: page(4) as Identity, fetchUrl: `${page(4)}?sid=1` as RequestForm };
  agent.find(page(1), page(2), page(3), session, page(2, 'b.test'), page(1, 'c.test'));
  agent.run();
  assert.deepEqual(agent.asked().sort(), [page(1), page(3)]);
  assert.deepEqual(
    agent.asked('any').filter((url) => !url.startsWith('http://a.test/')),
    [],
  );
  assert.deepEqual(agent.skipped(), {
    [page(2)]: 'scope',
    [page(4)]: 'scope',
    [page(2, 'b.test')]: 'scope',
    [page(1, 'c.test')]: 'scope',
  });
  assert.ok(seen.includes(`${page(4)}?sid=1`));
  agent.checkAccounts();
});

test('scope: a host that is no longer covered is skipped at once', () => {
  const web: Options['web'] = () => ({ status: 503, retryAfterMs: 3_600_000 });
  let covered = true;
  const agent = agentWith({ web, scope: { covers: () => covered, admits: () => covered } });
  agent.find(page(1), page(2));
  agent.run(5000);
  covered = false;
  order(agent, 'a.test');
  agent.run(100);
  assert.deepEqual(agent.skipped(), { [page(1)]: 'scope', [page(2)]: 'scope' });
  assert.ok(agent.visits.isEmpty());
});

test('orders: a changed delay applies to the wait that the host has begun', () => {
  const agent = agentWith({ hostDelayMs: 1000 });
  agent.find(page(1), page(2), page(3), page(4));
  agent.run(500);
  agent.delays.set('a.test', 5000);
  order(agent, 'a.test');
  agent.run(6000);
  agent.delays.set('a.test', 2000);
  order(agent, 'a.test');
  agent.run(1000);
  agent.delays.set('a.test', 100);
  order(agent, 'a.test');
  agent.run();
  const gaps = agent.log.slice(1).map(({ start }, k) => start - agent.log[k]!.end);
  assert.deepEqual(gaps, [5000, 2000, 470]);
});

test('orders: nothing is requested while visits are held back, whatever is due', () => {
  const agent = agentWith();
  for (let n = 0; n < 20; n++) agent.find(page(n, `h${n}.test`));
  agent.holdBack = true;
  agent.run(60_000);
  assert.deepEqual(agent.asked('any'), []);
  assert.equal(agent.visits.isEmpty(), false);
  agent.holdBack = false;
  agent.run();
  assert.equal(agent.asked().length, 20);
});
