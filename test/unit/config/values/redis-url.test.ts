import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRedisUrl, passwordVariable } from '../../../../config/values/redis-url.ts';

const plain = {
  ...{ host: 'h', port: 6379, tls: false, user: '', hasPassword: false, database: 0 },
  sentinels: null,
};
const one = { host: 'h', port: 26_379 };
const other = { host: '::1', port: 7000 };

for (const [text, parts] of [
  ['redis://h', {}],
  ['redis://h/', {}],
  ['redis://h:7000/3', { port: 7000, database: 3 }],
  ['rediss://crawler@h:6380/0', { tls: true, user: 'crawler', port: 6380 }],
  ['redis://a%40b@h', { user: 'a@b' }],
  ['redis://:secret@h', { hasPassword: true }],
  ['redis://10.0.0.1', { host: '10.0.0.1' }],
  ['redis://[::1]:7000', { host: '::1', port: 7000 }],
  ['redis-sentinel://h#main', { ...one, sentinels: { master: 'main', places: [one] } }],
  [
    'rediss-sentinel://u@h,[::1]:7000/2#a.b',
    {
      ...{ ...one, tls: true, user: 'u', database: 2 },
      sentinels: { master: 'a.b', places: [one, other] },
    },
  ],
  [
    'redis-sentinel://u:secret@h#main',
    { ...one, user: 'u', hasPassword: true, sentinels: { master: 'main', places: [one] } },
  ],
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
  'redis-sentinel://h',
  'redis-sentinel://h#',
  'redis-sentinel://h,#main',
  'redis-sentinel://h,a b#main',
  'redis-sentinel://h:0#main',
  'redis-sentinel://h/x#main',
  'redis-sentinel://h#a b',
  `redis-sentinel://${'h,'.repeat(16)}h#main`,
]) {
  test(`redis URL: refuses ${JSON.stringify(text)}`, () => {
    assert.equal(parseRedisUrl(text), null);
  });
}

test('redis URL: the variable of a password is a name that a shell can set', () => {
  assert.equal(passwordVariable('new-york-2'), 'DEDUP_PASSWORD_NEW_YORK_2');
});
