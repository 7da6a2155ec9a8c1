import assert from 'node:assert/strict';
import { test } from 'node:test';
import { robotsFilter } from '../../../../agent/cli/explain/explain-robots.ts';
import type {
  Explanation,
  OpenRequest,
  RobotsVerdict,
} from '../../../../agent/control/explanation.ts';

const HERE = 'http://a.test/x';
const THERE = 'http://b.test/robots.txt';
const AGAIN_AT = Date.UTC(2026, 0, 2, 3, 4, 5);
const AGAIN = 'next attempt after 2026-01-02T03:04:05.000Z';

function known(robots: Partial<RobotsVerdict> | null, open: OpenRequest | null = null) {
  const none = { fetchedAt: 1, rule: null, reason: null, retryAt: 0 };
  const facts = {
    url: null,
    host: null,
    inOutbox: false,
    paused: false,
    blockedBy: null,
    askedFor: null,
    heldBy: null,
  };
  const verdict = robots && { kind: 'rules', allowed: true, ...none, ...robots };
  return { agent: 'a1', ...facts, robots: verdict, open, wait: null } satisfies Explanation;
}

function unreachable(reason: string | null, retryAt: number | null = AGAIN_AT) {
  return { kind: 'unreachable', allowed: null, reason, retryAt } as const;
}

function filterOf(stored: Explanation | null, others: Record<string, Explanation> = {}) {
  return robotsFilter(true, HERE, stored, async (url) => others[url] ?? null);
}

async function why(stored: Explanation | null, others: Record<string, Explanation> = {}) {
  return (await filterOf(stored, others)).why;
}

test('explain robots: says whether a file is being requested or never was', async () => {
  const nobody = { filter: 'robots', passes: null, why: 'robots.txt has not been requested' };
  assert.deepEqual(await filterOf(known(null)), nobody);
  assert.deepEqual(await filterOf(null), nobody);
  const at = (url: string, kind: OpenRequest['kind'] = 'robots') => why(known(null, { kind, url }));
  assert.equal(await at('http://a.test/robots.txt'), 'robots.txt is being requested');
  assert.equal(await at('http://a.test:81/robots.txt'), nobody.why);
  assert.equal(await at('http://a.test/', 'page'), nobody.why);
  const again = known(unreachable('reset'), { kind: 'robots', url: 'http://a.test/robots.txt' });
  assert.equal(await why(again), `unreachable: reset, ${AGAIN}; robots.txt is being requested`);
});

test('explain robots: names the rule and its source, or the reason for no rules', async () => {
  const rule = 'Disallow: /x';
  assert.deepEqual(await filterOf(known({ rule, allowed: false })), {
    ...{ filter: 'robots', passes: false, why: rule },
  });
  const reason = `redirected to ${THERE}, reported by a2`;
  assert.equal(await why(known({ rule, reason })), `${rule}, ${reason}`);
  assert.equal(await why(known({})), 'no rule matches');
  const absent = (text: string) => why(known({ kind: 'allowAll', reason: text }));
  assert.equal(await absent('status_404'), 'no rules: status_404');
  const ignored = 'redirected to http://c.test/robots.txt, out of scope';
  assert.equal(await absent(ignored), `no rules: ${ignored}`);
  const sixth = `redirected to ${THERE}`;
  assert.equal(await absent(sixth), `no rules: ${sixth}, too many redirects`);
});

test('explain robots: says when an unreachable file is tried again, if it is', async () => {
  assert.equal(await why(known(unreachable('dns'))), `unreachable: dns, ${AGAIN}`);
  assert.equal(
    await why(known(unreachable(null, null))),
    'unreachable: the server answers 429 or 5xx, no attempt left',
  );
});

test('explain robots: follows a host that waits for another to the cause of the wait', async () => {
  const asked = `redirected to ${THERE}, whose owner is asked`;
  const waits = known(unreachable(asked, 1));
  const there = (other: Explanation) => why(waits, { [THERE]: other });
  const start = `unreachable: ${asked}; there: `;
  assert.equal(await there(known(unreachable('dns'))), `${start}unreachable: dns, ${AGAIN}`);
  assert.equal(
    await there(known(null, { kind: 'robots', url: THERE })),
    `${start}robots.txt is being requested`,
  );
  assert.equal(await why(waits), `${start}no agent that has it answers`);
  const told = `redirected to ${THERE}, reported by a2`;
  assert.equal(
    await why(known(unreachable(told, null)), { [THERE]: known(unreachable(null, null)) }),
    `unreachable: ${told}, no attempt left; there: unreachable: the server answers 429 or 5xx, no attempt left`,
  );
});

test('explain robots: names the origin whose rules the host waits for', async () => {
  const held = { ...known(null), heldBy: 'http://a.test:81' };
  const asked = `redirected to ${THERE}, whose owner is asked`;
  const file = 'http://a.test:81/robots.txt';
  const others = { [file]: known(unreachable(asked)), [THERE]: known(unreachable('dns')) };
  const none = 'robots.txt has not been requested: its host waits for the rules of';
  assert.equal(
    await why(held, others),
    `${none} http://a.test:81, unreachable: ${asked}; there: unreachable: dns, ${AGAIN}`,
  );
});

test('explain robots: follows waiting files only as far as redirects', async () => {
  const asked = known(unreachable(`redirected to ${THERE}, whose owner is asked`, 1));
  const text = await why(asked, { [THERE]: asked });
  assert.equal(text.split('there: ').length - 1, 5);
});
