import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printConfig } from '../../../../config/printed-config.ts';
import { bad, good, onlyProblem, plain, warningsOf } from '../written-config.ts';

const dedup = (text: string) => `${plain}dedup: { ${text} }\n`;
const two = 'networks: { berlin: "redis://h:1", paris: "rediss://crawler@[::1]:2/3" }';

test('rules: a cluster names itself among the networks', () => {
  const config = good(dedup(`mode: redis, network: paris, ${two}`));
  assert.deepEqual(good(printConfig(config)).dedup, config.dedup);
  const unnamed = onlyProblem(dedup(`mode: redis, ${two}`));
  assert.deepEqual(
    [unnamed.path, unnamed.message],
    ['dedup.network', 'is missing, and dedup.mode is redis'],
  );
  const unknown = onlyProblem(dedup(`mode: redis, network: rome, ${two}`));
  assert.equal(unknown.path, 'dedup.network');
  assert.match(unknown.message, /^"rome" is not in dedup\.networks, which has berlin, paris$/);
  assert.match(onlyProblem(dedup('mode: redis, network: rome')).message, /which is empty/);
});

test('rules: without redis, the networks need not be complete', () => {
  good(dedup('network: rome'));
  assert.deepEqual(warningsOf(dedup(`network: rome, ${two}`)), []);
});

test('rules: a network that names itself, but does not share the crawl, is warned', () => {
  const [warning, ...more] = warningsOf(dedup(`network: paris, ${two}`));
  assert.match(
    warning!,
    /dedup\.mode.* is none, so each of the networks berlin, paris fetches every page; write "mode: redis"/,
  );
  assert.deepEqual(more, []);
  assert.deepEqual(warningsOf(dedup(`mode: redis, network: paris, ${two}`)), []);
});

test('rules: a password belongs in the environment, and no message repeats it', () => {
  for (const mode of ['none', 'redis']) {
    const url = 'redis://user:s3cret@h';
    const problem = onlyProblem(
      dedup(`mode: ${mode}, network: new-york, networks: { new-york: "${url}" }`),
    );
    assert.equal(problem.path, 'dedup.networks.new-york');
    assert.match(problem.remedy, /DEDUP_PASSWORD_NEW_YORK, or DEDUP_PASSWORD_NEW_YORK_FILE/);
    assert.doesNotMatch(JSON.stringify(problem), /s3cret/);
  }
});

test('rules: no message repeats a URL that cannot be read', () => {
  for (const url of [
    'redis://user:s3c/ret@h',
    'http://u:s3cret@h',
    `redis://u:s3cret@${'h'.repeat(400)}`,
  ]) {
    const problems = bad(dedup(`networks: { berlin: "${url}" }`));
    assert.equal(problems[0]!.path, 'dedup.networks.berlin');
    assert.doesNotMatch(JSON.stringify(problems), /s3c|ret@/);
  }
});

test('rules: the message about a URL says that its database is a number', () => {
  const { path, message, remedy } = onlyProblem(dedup('networks: { berlin: "redis://h:1/zero" }'));
  assert.deepEqual([path, message], ['dedup.networks.berlin', 'is not a Redis URL']);
  assert.match(remedy, /DATABASE is a number/);
});

test('rules: a network has a name that fits into the name of a variable', () => {
  for (const name of ['Berlin', 'a_b', '-a', 'a.b', 'a/b', 'x'.repeat(33)]) {
    assert.match(
      JSON.stringify(bad(dedup(`networks: { "${name}": "redis://h" }`))),
      /not the name of a network/,
    );
  }
});

test('rules: there are at most 32 networks', () => {
  const networks = (count: number) =>
    dedup(`networks: { ${Array.from({ length: count }, (_, k) => `n${k}: "redis://h"`)} }`);
  good(networks(32));
  assert.match(onlyProblem(networks(33)).message, /more than 32 networks/);
});

test('rules: a lease outlives two answers that come late', () => {
  good(dedup('timeoutMs: 2s, leaseMs: 6s'));
  const problem = onlyProblem(dedup('timeoutMs: 2s, leaseMs: 5999'));
  assert.equal(problem.path, 'dedup.leaseMs');
  assert.match(problem.remedy, /raise leaseMs to 6000/);
});
