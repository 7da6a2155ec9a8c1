import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRedisUrl, passwordVariable } from '../../../../config/values/redis-url.ts';

const plain = { host: 'h', port: 6379, tls: false, user: '', hasPassword: false, database: 0 };

for (const [text, parts] of [
  ['redis://h', {}],
  ['redis://h/', {}],
  ['redis://h:7000/3', { port: 7000, database: 3 }],
  ['rediss://crawler@h:6380/0', { tls: true, user: 'crawler', port: 6380 }],
  ['redis://a%40b@h', { user: 'a@b' }],
  ['redis://:secret@h', { hasPassword: true }],
  ['redis://10.0.0.1', { host: '10.0.0.1' }],
  ['redis://[::1]:7000', { host: '::1', port: 7000 }],
] as const) {
  test(`redis URL: reads ${text}`, () => {
    assert.deepEqual(parseRedisUrl(text), { ...plain, ...parts });
  });
}

for (const text of [
  '',
  'h:6379',
  'http://h',
  'redis:h',
  'redis://',
  'redis://h:0',
  'redis://h:99999',
  'redis://h/name',
  'redis://h/1/2',
  'redis://h?db=1',
  'redis://h#1',
  'redis://a b',
  'redis://%ff@h',
  'unix:///tmp/redis.sock',
]) {
  test(`redis URL: refuses ${JSON.stringify(text)}`, () => {
    assert.equal(parseRedisUrl(text), null);
  });
}

test('redis URL: the variable of a password is a name that a shell can set', () => {
  assert.equal(passwordVariable('new-york-2'), 'DEDUP_PASSWORD_NEW_YORK_2');
});
