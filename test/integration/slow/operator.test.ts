// Commands of an operator to a running crawl, judged by the log of the web server: pause, resume,
// block, delay, seed and explain. Also export and explain after the crawl.
// The slower of these tests; the others are in `test/integration/operator.test.ts`.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { UrlReport } from '../../../agent/cli/explain/explain-text.ts';
import type { ListedDirective } from '../../../agent/cli/status/status-directives.ts';
import { type RunningWeb, startWeb } from '../../web/server.ts';
import { call, run, Scratch, start, until, untilAsked, untilJoined } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

const ids = ['a1', 'a2'];
const size = { hosts: 8, pages: 20, port: 0, answerMs: 5 };

/**
 * Starts a crawl of a1 and a2 that cannot end before the gate is opened.
 *
 * @param listed - number of agents in the config
 * @param hosts - settings of single hosts, as in a config
 */
async function crawlOf(t: TestContext, second: number, listed: number, hosts: object = {}) {
  const gate = await startGate();
  const web = await startWeb({ ...size, shares: { flaky: 0, slow: 0 }, net: second });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await gate.stop();
    await web.stop();
  });
  const config = await scratch.config(listed, {
    seeds: [web.seed, gate.seed],
    politeness: { hostDelayMs: 120, hosts },
  });
  const launch = start(['launch', config, '--agents', ids.join(',')]);
  const served = (count: number) => {
    const before = web.requests().length;
    return until(`${count} requests`, () => web.requests().length >= before + count);
  };
  await served(20);
  await untilJoined(config, ...ids);
  return { web, gate, config, launch, served };
}

type Crawl = Awaited<ReturnType<typeof crawlOf>>;

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** The requested host with the fewest requests so far. */
function freshHost(web: RunningWeb): string {
  const counts = Map.groupBy(web.requests(), ({ host }) => host);
  const [first] = [...counts].sort(([, a], [, b]) => a.length - b.length);
  return first![0];
}

/** Adds a URL, changes the delay of a host and explains the URL. */
async function steers({ web, config }: Crawl, late: string) {
  const seeded = await run('seed', config, `${late}#part`, 'mailto:x@y.example');
  assert.equal(seeded.code, 1, seeded.stderr);
  const [first, second] = linesOf(seeded.stdout)
    .sort((a, b) => a.length - b.length)
    .reverse();
  assert.match(`${first} ${second}`, /given-late\?x=1#part: accepted/);
  assert.match(`${first} ${second}`, /mailto:x@y.example: refused: not a URL to crawl \(scheme\)/);

  const host = freshHost(web);
  const slower = await run('delay', config, host, '200');
  assert.equal(slower.code, 0, slower.stderr);
  assert.equal((await run('delay', config, host, '--off')).code, 0);
  assert.equal((await run('delay', config, host)).code, 2);
  const inSeconds = await run('delay', config, host, '0.2s');
  assert.equal(inSeconds.code, 0, inSeconds.stderr);
  for (const text of ['banana', '25h', '-5', '1.5']) {
    const refused = await run('delay', config, host, text);
    assert.equal(refused.code, 2, text);
  }
  assert.equal((await run('delay', config, host, '--off')).code, 0);

  const running = JSON.parse((await run('explain', config, late, '--json')).stdout) as UrlReport;
  assert.equal(running.source, 'agents');
  assert.equal(running.identity, late);
  assert.equal(running.owner, running.stored?.agent);
  assert.ok(running.filters.every(({ passes }) => passes !== false));
}

/** Pauses the crawl, which cannot end meanwhile although its gate is opened, and resumes it. */
async function pausesAndResumes({ web, gate, config, launch, served }: Crawl) {
  const paused = await run('pause', config, '--json');
  assert.equal(paused.code, 0, paused.stderr);
  assert.deepEqual(JSON.parse(paused.stdout), Object.fromEntries(ids.map((id) => [id, 'applied'])));
  gate.open();
  // Open requests may still end; then no request may follow for many delays.
  await pause(300);
  const before = web.requests().length;
  await pause(1500);
  assert.equal(web.requests().length, before);
  assert.equal(launch.child.exitCode, null);
  const resumed = await run('resume', config);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.deepEqual(
    linesOf(resumed.stdout).sort(),
    ids.map((id) => `${id}: applied`),
  );
  await served(1);
}

/** Explains and exports a complete crawl that has fetched this URL. */
async function isRead({ web, gate, config }: Crawl, late: string) {
  const sql = 'SELECT url, referrer FROM pages WHERE depth > 0 AND status = 200 LIMIT 1';
  const [deep] = JSON.parse((await run('query', config, sql, '--json')).stdout) as [
    { url: string; referrer: string },
  ];
  const after = JSON.parse((await run('explain', config, deep.url, '--json')).stdout) as UrlReport;
  assert.equal(after.source, 'files');
  assert.equal(after.state, 'response');
  assert.equal(after.chain[0]?.url, deep.referrer);
  const roots: (string | undefined)[] = [web.seed, gate.seed];
  assert.ok(roots.includes(after.chain.at(-1)?.url), 'the chain ends at a seed');
  assert.ok(after.foundAt !== null && after.stored?.robots?.allowed === true);
  const text = await run('explain', config, deep.url);
  assert.match(text.stdout, /^canonical /);
  assert.match(text.stdout, /referrers, back to the seed/);
  const unknown = await run('explain', config, 'http://never.test/', '--json');
  assert.equal((JSON.parse(unknown.stdout) as UrlReport).state, 'unknown');

  const pages = linesOf((await run('export', config)).stdout).map((line) => JSON.parse(line));
  const urls = linesOf((await run('export', config, '--format', 'urls')).stdout);
  assert.deepEqual(pages.map(({ url }) => url).sort(), urls.toSorted());
  assert.equal(new Set(urls).size, urls.length);
  assert.ok(urls.includes(late) && urls.length > 100);
  const rows = await run('query', config, 'SELECT * FROM pages LIMIT 1', '--json');
  assert.deepEqual(Object.keys(pages[0]), Object.keys(JSON.parse(rows.stdout)[0]));
  const edges = linesOf((await run('export', config, '--format', 'graph')).stdout);
  assert.ok(edges.includes(`${deep.referrer}\t${deep.url}`));
  assert.ok(edges.every((line) => line.split('\t').length === 2));
}

/** Blocks patterns while the crawl is paused, and withdraws them. */
async function blocksPatterns(config: string) {
  // a3 never started, so the command cannot reach it.
  assert.equal((await run('pause', config)).code, 1);
  const blocked = await run('block', config, '*', '--json');
  assert.equal(blocked.code, 1);
  assert.match(blocked.stderr, /a3: will obey/);
  const unknown = await run('block', config, '*.nobody.test');
  assert.match(unknown.stderr, /no agent that answered knows a host that matches \*\.nobody\.test/);
  assert.equal((await run('block', config, 'a*b')).code, 2);
  const still = await run('block', config, 'x.nobody.test', '--off');
  assert.match(
    still.stderr,
    /no state in .* has it; start .*\nx\.nobody\.test is blocked by \*\.nobody\.test: undo/,
  );

  // The next heartbeats tell each agent which others have a directive.
  let listed: readonly ListedDirective[] = [];
  await untilAsked('a1 and a2 are known to have the directives', async () => {
    listed = JSON.parse((await run('status', config, '--json')).stdout).orders;
    return listed.every(({ missing }) => missing.length === 1);
  });
  assert.deepEqual(
    listed.map(({ kind, host, missing }) => [kind, host, missing]),
    [
      ['block', '*.nobody.test', ['a3']],
      ['block', '*', ['a3']],
      ['pause', '', ['a3']],
    ],
  );
  assert.match(
    (await run('status', config)).stdout,
    /directive\s+applies to\s+value\s+given by\s+not reached/,
  );
  const sql = "SELECT agent, host FROM orders WHERE kind = 'block' ORDER BY agent, host";
  assert.deepEqual(JSON.parse((await run('query', config, sql, '--json')).stdout), [
    { agent: 'a1', host: '*' },
    { agent: 'a1', host: '*.nobody.test' },
    { agent: 'a2', host: '*' },
    { agent: 'a2', host: '*.nobody.test' },
  ]);

  for (const pattern of ['*', '*.nobody.test']) await run('block', config, pattern, '--off');
  await run('resume', config);
}

describe('operator', { concurrency: 1 }, () => {
  test('seed, delay and explain act on a running crawl, pause and resume on all agents; explain and export read a complete one', async (t) => {
    const crawl = await crawlOf(t, 73, 2);
    const { web, config, launch } = crawl;
    const { origin } = new URL(web.seed);
    const late = `${origin}/given-late?x=1`;
    await steers(crawl, late);
    await pausesAndResumes(crawl);
    assert.equal((await launch.ended).code, 0);
    const refused = await run('seed', config, `${origin}/too-late`);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /the crawl is complete; add the URLs to the seeds/);
    await isRead(crawl, late);
  });

  test('a blocked pattern is listed until it is withdrawn, and a blocked host gets no request of any agent, even of one that joins later', async (t) => {
    // The delay of an hour allows at most the request for robots.txt before the block arrives.
    const host = '127.72.0.2';
    const slow = { [host]: { hostDelayMs: '1h' } };
    const { web, gate, config, launch } = await crawlOf(t, 72, 3, slow);
    await blocksPatterns(config);
    const blocked = await run('block', config, host, '--json');
    assert.equal(blocked.code, 1, 'a3 was not reached');
    const said = { a1: 'applied', a2: 'applied', a3: 'unreachable' };
    assert.deepEqual(JSON.parse(blocked.stdout), said);
    assert.match(blocked.stderr, /a3: will obey/);
    const late = start(['agent', config, '--id', 'a3']);
    await untilJoined(config, ...ids, 'a3');
    gate.open();
    assert.equal((await launch.ended).code, 0);
    await late.ended;
    const asked = web.requests().filter((request) => request.host === host);
    assert.deepEqual(
      asked.map(({ path }) => path).filter((path) => path !== '/robots.txt'),
      [],
    );
    const sql = `SELECT DISTINCT host, reason FROM skipped
      WHERE host = '${host}' OR reason = 'blocked'`;
    const { stdout } = await run('query', config, sql, '--json');
    const what = 'what was skipped because of a pattern was fetched after its withdrawal';
    assert.deepEqual(JSON.parse(stdout), [{ host, reason: 'blocked' }], what);
    assert.ok(web.requests().length > 100);
    const audit = await run('audit', config);
    assert.equal(audit.code, 0, audit.stdout + audit.stderr);
  });

  test('a directive that only an agent has which does not run is taken back in its file', async (t) => {
    const gate = await startGate();
    const scratch = new Scratch();
    t.after(async () => {
      scratch.clean();
      await gate.stop();
    });
    const config = await scratch.config(3, { seeds: [gate.seed] });
    const launch = start(['launch', config, '--agents', 'a1']);
    await untilJoined(config, 'a1');
    assert.match((await run('block', config, 'x.test')).stdout, /^a1: applied$/m);
    process.kill(scratch.pid('a1')!, 'SIGKILL');
    const killed = await launch.ended;
    assert.equal(killed.code, 11, 'a launch ends with 11 if every agent was killed');
    assert.match(killed.stderr, /a1 was killed \(SIGKILL\); none of this launch is left/);
    const a2 = start(['agent', config, '--id', 'a2']);
    await untilJoined(config, 'a2');
    const second = await call(['launch', config, '--agents', 'a1,a2']);
    assert.equal(second.code, 4, second.stderr);
    assert.match(second.stderr, /a2 is in use by .*; start the others:\n.* agent .* --id a1$/m);
    const fresh = await call(['launch', config, '--agents', 'a1,a2', '--fresh']);
    assert.match(fresh.stderr, /a2 is in use by .*; stop it first:$/m);

    const off = await run('block', config, 'x.test', '--off');
    assert.deepEqual([off.code, off.stdout], [0, 'a1: applied\n'], off.stderr);
    assert.match(off.stderr, /^only a1, which does not run, had it: its state file was changed$/m);
    const again = await run('block', config, 'x.test', '--off');
    assert.equal(again.code, 1);
    // a3, which has never been started, may be on another machine.
    assert.match(
      again.stderr,
      /those that answer do not have it, and no state in .* has it; start/,
    );

    const a1 = start(['agent', config, '--id', 'a1']);
    await untilJoined(config, 'a1', 'a2');
    assert.doesNotMatch((await run('status', config)).stdout, /^block/m);
    gate.open();
    for (const { ended } of [a1, a2]) assert.equal((await ended).code, 0);
  });

  test('launch names a directive that completed the crawl, and --off withdraws it from the files', async (t) => {
    const gate = await startGate();
    const scratch = new Scratch();
    t.after(async () => {
      scratch.clean();
      await gate.stop();
    });
    const config = await scratch.config(2, { seeds: [gate.seed] });
    const first = start(['launch', config]);
    await until('both agents', () => scratch.pid('a1') !== null && scratch.pid('a2') !== null);
    assert.equal((await run('delay', config, 'x.test', '2s')).code, 0);
    assert.equal((await run('block', config, 'z.test')).code, 0);
    assert.equal((await run('block', config, '*')).code, 0);
    gate.open();
    assert.equal((await first.ended).code, 0);
    const none = await run('query', config, 'SELECT url, status FROM pages', '--json');
    assert.equal(none.stdout.trim(), '[]');

    const complete = await call(['launch', config]);
    assert.equal(complete.code, 0, complete.stderr);
    assert.match(complete.stderr, /^in force: block \*, given by a\d; .*block .* '\*' --off$/m);
    assert.match(complete.stderr, /^in force: delay x\.test 2 s, given by a\d; /m);
    assert.match(complete.stderr, /complete already/);
    const still = await run('block', config, 'z.test', '--off');
    assert.deepEqual([still.code, still.stdout], [1, 'a1: applied\na2: applied\n'], still.stderr);
    assert.match(
      still.stderr,
      /^a1: no agent runs in .*\n[\s\S]*no agent of this data directory runs/,
    );
    assert.match(still.stderr, /z\.test is still blocked by \*: undo that block, too/);
    const other = await run('block', config, 'y.test', '--off');
    assert.equal(other.code, 1, other.stderr);
    assert.match(
      other.stderr,
      /no such directive is in force; there is nothing to end\ny\.test is blocked by \*: .*\nin force: block.*\nin force: delay/,
    );

    const { code, stdout, stderr } = await run('block', config, '*', '--off');
    assert.equal(code, 0, stderr);
    assert.equal(stdout, 'a1: applied\na2: applied\n');
    const again = await run('launch', config);
    assert.equal(again.code, 0, again.stderr);
    assert.doesNotMatch(again.stderr, /in force: block/);
    const { stdout: pages } = await run('query', config, 'SELECT status FROM pages', '--json');
    assert.deepEqual(JSON.parse(pages), [{ status: 200 }]);
    assert.equal((await run('audit', config)).code, 0);
  });
});
