import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RobotsFetch, robotsAccess, robotsUrlOf } from '../../../agent/robots/access.ts';
import { absent, independentCases } from '../url/independent-cases.ts';

interface AccessRow {
  id: string;
  when: {
    status?: number;
    body?: string;
    network?: string;
    headers?: Record<string, string>;
    cachedAgeHours?: number;
    unreachableDays?: number;
  };
  expect: string;
}

const cases = independentCases<AccessRow[]>('robots_access.json');
const URL_ = 'http://a.test/robots.txt';

function response(status: number, rest: { body?: string; location?: string } = {}): RobotsFetch {
  const body = Buffer.from(rest.body ?? '');
  return { kind: 'response', status, body, location: rest.location ?? null, retryAfterMs: 5000 };
}

test('access: a received file gives rules, an empty one allows all', () => {
  assert.equal(robotsAccess(response(200, { body: 'x' }), URL_).kind, 'rules');
  assert.equal(robotsAccess(response(204), URL_).kind, 'allowAll');
});

test('access: a missing file allows all, a busy or failing server forbids all', () => {
  for (const status of [400, 401, 403, 404, 410, 451]) {
    assert.equal(robotsAccess(response(status), URL_).kind, 'allowAll');
  }
  for (const status of [429, 500, 503, 599, 600, 199]) {
    assert.deepEqual(robotsAccess(response(status), URL_), {
      kind: 'unreachable',
      reason: `status_${status}`,
      error: null,
      status,
      retryAfterMs: 5000,
    });
  }
});

test('access: a failed request forbids all, and has its code', () => {
  const access = robotsAccess({ kind: 'failure', code: 'dns' }, URL_);
  assert.ok(access.kind === 'unreachable' && access.error === 'dns');
});

test('access: a redirect may lead to any host, and loses userinfo and fragment', () => {
  const moved = response(302, { location: '//u@b.test/r#x' });
  assert.deepEqual(robotsAccess(moved, URL_), {
    kind: 'redirect',
    location: 'http://b.test/r',
    host: 'b.test',
  });
});

test('access: a redirect without a valid target allows all', () => {
  assert.equal(robotsAccess(response(301), URL_).kind, 'allowAll');
  assert.equal(robotsAccess(response(301, { location: 'ftp://x/' }), URL_).kind, 'allowAll');
});

test('access: each scheme, host and port has its own file', () => {
  assert.equal(robotsUrlOf('https://a.test:444/x?y'), 'https://a.test:444/robots.txt');
});

test('independent cases: statuses and network errors', { skip: absent(cases) }, () => {
  let judged = 0;
  for (const { id, when, expect } of cases!) {
    const cached = when.cachedAgeHours !== undefined || when.unreachableDays !== undefined;
    if (cached || (when.status === undefined && when.network === undefined)) continue;
    const fetched: RobotsFetch =
      when.status === undefined
        ? { kind: 'failure', code: when.network! }
        : response(when.status, { body: when.body ?? '' });
    const { kind } = robotsAccess(fetched, URL_);
    const name = kind === 'unreachable' ? 'disallowAllTemporarily' : kind;
    assert.ok(expect.split('|').includes(name), `${id}: ${name}`);
    judged++;
  }
  assert.ok(judged > 10);
});
