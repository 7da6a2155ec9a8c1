// Tests on virtual time that hosts are abandoned if all their answers are slow failures, as hosts
// without answers are, and that a host which also serves pages is not. These are the slow tests;
// the others are in `test/unit/frontier/visits/visits-failing-hosts.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../../agent/storage/file/database.ts';
import { type Answer, EPOCH } from '../../one-agent.ts';
import { agentOf, countOf, found, MINUTE_MS, slow } from '../visits-failing-hosts-stage.ts';

const FAILURES: readonly (readonly [name: string, answer: Answer])[] = [
  ['504', slow({ status: 504 })],
  ['a cut body', slow({ fails: 'exchange', code: 'truncated_body' })],
  ['a syntax error', slow({ fails: 'exchange', code: 'http_syntax' })],
  ['408', slow({ status: 408 })],
];

for (const [name, answer] of FAILURES) {
  test(`failing: a host that always answers with ${name} after ten seconds is abandoned in minutes`, () => {
    const agent = agentOf(() => answer, 10_000);
    const tookMs = agent.run();
    assert.ok(tookMs > 6 * MINUTE_MS && tookMs < 20 * MINUTE_MS, `${tookMs / MINUTE_MS} minutes`);
    assert.ok(agent.log.length < 80, `${agent.log.length} requests`);
    assert.equal(Object.keys(agent.pages()).length, 10_000);
    assert.ok(countOf(agent, 'host_failing') > 9900);
    agent.checkAccounts();
    agent.checkPoliteness();
  });

  // A page that is answered with 408 is abandoned after 71 s.
  if (name === '408') continue;
  test(`failing: a host that answers with ${name} for five minutes loses no page`, () => {
    const agent = agentOf((_, at) => (at < EPOCH + 300_000 ? answer : found), 100);
    agent.run();
    assert.equal(countOf(agent, 200), 100);
    agent.checkAccounts();
  });
}

for (const [name, answer, error] of [
  ['silent', slow({ fails: 'no-answer', code: 'response_timeout' }), 'host_silent'],
  ['refusing', { fails: 'connection', code: 'connect_refused' }, 'connect_refused'],
  ['busy', { status: 503 }, 'host_busy'],
  ['failing', slow({ status: 504 }), 'host_failing'],
] as const) {
  test(`failing: if the visit ends while a ${name} host is abandoned, finishing costs at most one request`, () => {
    const db = openInMemory();
    const first = agentOf(() => answer, 4000, { db });
    // The process dies between two steps of abandoning the host.
    for (let turns = 0; first.store.owned().queued > 3000; turns++) {
      assert.ok(turns < 10_000);
      first.now = Math.max(first.now, first.nextAt());
      first.turn();
    }
    const second = agentOf(() => answer, 0, { db, now: first.now });
    second.run();
    assert.ok(second.log.length <= 1, `${second.log.length} requests`);
    assert.equal(Object.keys(second.pages()).length, 4000);
    assert.ok(countOf(second, error) > 3900);
    second.checkAccounts();
  });
}
