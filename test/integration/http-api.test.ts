// The HTTP server of a launch and of an agent, over real sockets to a real cluster: what the API says
// and does, its limits, and clients that may not read or steer.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import { startWeb } from '../web/server.ts';
import {
  run,
  Scratch,
  start,
  startAsGiven,
  until,
  untilAsked,
  untilJoined,
} from './cli-process.ts';
import { ask, json, readEvents, refusal } from './http-asker.ts';

const NET = 120;
const TOKEN = 'token-of-the-test-0123456789';

/** A launch of two agents that crawl slowly, and the address of its dashboard. */
async function launched() {
  const web = await startWeb({ hosts: 12, pages: 400, port: 0, net: NET });
  const scratch = new Scratch();
  const more = { seeds: [web.seed], politeness: { hostDelayMs: 1000 } };
  const config = await scratch.config(2, more, {
    failureDetector: { heartbeatMs: 200, suspectAfterMs: 3000 },
  });
  const launch = startAsGiven(['launch', config], {}, 240_000);
  await until('the dashboard is served', () => /dashboard: (\S+)/.test(launch.stderr()));
  const url = /dashboard: (\S+)\//.exec(launch.stderr())![1]!;
  await untilJoined(config, 'a1', 'a2');
  await until(
    'many hosts are known',
    () => new Set(web.requests().map(({ host }) => host)).size > 8,
  );
  const steering = { origin: url };
  const end = async () => {
    launch.child.kill('SIGTERM');
    await launch.ended;
    scratch.clean();
    await web.stop();
  };
  return { config, launch, url, api: `${url}/api/v1`, steering, end };
}

interface Rows {
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
  readonly next: string | null;
}

describe('HTTP server', { concurrency: 1 }, () => {
  let stage: Awaited<ReturnType<typeof launched>>;
  before(async () => {
    stage = await launched();
  });
  after(() => stage.end());

  test('events continue after the last one that the client has', async () => {
    const { api, steering } = stage;
    const first = await readEvents(`${api}/events`, {}, ({ length }) => length >= 3);
    const ids = first.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const middle = first[1]!;
    const later = await readEvents(
      `${api}/events`,
      { 'last-event-id': middle.id },
      ({ length }) => length >= 1,
    );
    assert.deepEqual(later[0]?.data, first[2]?.data);
    await refusal(`${api}/events`, { headers: { 'last-event-id': 'x' } }, 400, 'event-id-invalid');
    const watching = readEvents(`${api}/events`, { 'last-event-id': ids.at(-1)! }, (events) =>
      events.some(({ data }) => data.kind === 'order'),
    );
    const order = { method: 'POST', headers: steering };
    await json(`${api}/directives`, { ...order, body: { kind: 'pause' } });
    assert.equal((await watching).find(({ data }) => data.kind === 'order')?.data.text, 'paused');
    await json(`${api}/directives`, { ...order, body: { kind: 'resume' } });
    await readEvents(`${api}/events`, {}, (all) => all.some(({ data }) => data.text === 'resumed'));
    const states = await fetch(`${api}/events?state=true`);
    assert.equal(states.headers.get('content-encoding'), 'gzip');
    let text = '';
    for await (const part of states.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.split('event: cluster\n').length > 3 && text.includes('event: circle\n')) break;
    }
    const [, view] = /event: cluster\ndata: (.*)\n/.exec(text)!;
    assert.equal((JSON.parse(view!) as { name: string }).name, 'cli-test');
  });

  test('pages of other sites and rebound names neither read nor steer', async () => {
    const { api, url, steering } = stage;
    const pause = { method: 'POST', body: { kind: 'pause' } };
    const evil = { origin: 'http://evil.test', 'sec-fetch-site': 'cross-site' };
    await refusal(`${api}/cluster`, { headers: evil }, 403, 'other-site');
    await refusal(`${api}/directives`, { ...pause, headers: evil }, 403, 'other-site');
    const rebound = {
      host: 'evil.test',
      origin: 'http://evil.test',
      'sec-fetch-site': 'same-origin',
    };
    await refusal(`${api}/cluster`, { headers: rebound }, 403, 'host-refused');
    await refusal(`${api}/directives`, { ...pause, headers: rebound }, 403, 'host-refused');
    await refusal(`${url}/metrics`, { headers: rebound }, 403, 'host-refused');
    await refusal(`${api}/directives`, pause, 403, 'role-too-low');
    assert.equal((await ask(`${api}/cluster`)).headers['ubiring-role'], 'read');
    await refusal(
      `${api}/stop`,
      { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } },
      401,
      'token-unknown',
    );
    // A form of another site can send such a body without asking first.
    const form = { ...steering, 'content-type': 'text/plain' };
    await refusal(`${api}/directives`, { ...pause, headers: form }, 415, 'type-unsupported');
    const { headers } = await ask(`${url}/`);
    assert.match(
      String(headers['content-security-policy']),
      /default-src 'none'.*frame-ancestors 'none'/,
    );
    assert.equal(headers['access-control-allow-origin'], undefined);
    const { agents } = await json<{ agents: { paused: boolean }[] }>(`${api}/cluster`);
    assert.ok(agents.every(({ paused }) => !paused));
  });

  test('odd requests harm nobody', async () => {
    const { api, url, steering } = stage;
    const { port } = new URL(url);
    const raw = (bytes: string) =>
      new Promise<string>((resolve) => {
        let text = '';
        const socket = net.connect(Number(port), '127.0.0.1', () => socket.write(bytes));
        socket.on('data', (part) => {
          text += part;
        });
        socket.on('error', () => resolve(text));
        socket.on('close', () => resolve(text));
      });
    // Many connections without a request: those of earlier clients are closed for new ones.
    const silent = await Promise.all(
      Array.from({ length: 600 }, async () => {
        const socket = net.connect(Number(port), '127.0.0.1');
        socket.on('error', () => {});
        await once(socket, 'connect');
        return socket;
      }),
    );
    assert.equal((await ask(`${url}/healthz`)).status, 200);
    for (const socket of silent) socket.destroy();
    const unread = await raw('nonsense\r\n\r\n');
    assert.match(
      unread,
      /^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/problem\+json\r\n/,
    );
    const said = JSON.parse(unread.split('\r\n\r\n')[1]!) as Record<string, string>;
    assert.deepEqual([said.code, said.remedy !== ''], ['request-unread', true]);
    assert.match(
      await raw(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`),
      /^HTTP\/1\.1 431/,
    );
    assert.match(
      await raw('GET http://evil.test/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 400/,
    );
    for (const path of [
      '/../../etc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/lib/../../package.json',
      '/dashboard.ts',
      '//',
    ]) {
      assert.equal((await ask(url + path)).status, 404, path);
    }
    // A request that is never completed is ended, so that it does not keep others out.
    assert.match(await raw('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n'), /^HTTP\/1\.1 408/);
    const half = 'POST /api/v1/seeds HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{';
    assert.doesNotMatch(await raw(half), /^HTTP\/1\.1 200/);
    // Requests that do not wait for answers keep nobody from steering.
    const why = (n: number) =>
      `GET /api/v1/explain?url=http://127.${NET}.0.1/${n} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    const flood = raw(Array.from({ length: 3000 }, (_, n) => why(n)).join(''));
    const order = { method: 'POST', headers: steering, body: { kind: 'pause' } };
    assert.deepEqual(await json(`${api}/directives`, order), { a1: 'applied', a2: 'applied' });
    const answers = (await flood).match(/^HTTP\/1\.1 \d+/gm) ?? [];
    assert.equal(answers.filter((line) => line.endsWith('200')).length, 17, answers.join());
    assert.deepEqual(answers.slice(17), ['HTTP/1.1 503'], 'the connection stays open');
    await refusal(`${api}/hosts`, { method: 'DELETE' }, 405, 'method-not-allowed');
    const big = {
      method: 'POST',
      headers: steering,
      body: JSON.stringify({ urls: ['x'.repeat(200_000)] }),
    };
    await refusal(`${api}/seeds`, big, 413, 'body-too-large');
    await refusal(`${api}/seeds`, { ...big, body: '{"urls":' }, 400, 'body-invalid');
    await refusal(`${api}/seeds`, { ...big, body: { urls: [] } }, 400, 'body-invalid');
    // An argument must not become an option.
    await refusal(`${api}/seeds`, { ...big, body: { urls: ['--data=/'] } }, 400, 'seeds-refused');
    assert.equal((await json<{ agents: unknown[] }>(`${api}/cluster`)).agents.length, 2);
    await json(`${api}/directives`, { ...order, body: { kind: 'resume' } });
  });

  test('a launch serves the state of the cluster, and steers it', async () => {
    const { api, url, steering, launch, config } = stage;
    const cluster = await json<{ agents: { id: string; hosts: number }[]; unreachable: string[] }>(
      `${api}/cluster`,
    );
    assert.deepEqual(
      cluster.agents.map(({ id }) => id),
      ['a1', 'a2'],
    );
    assert.deepEqual(cluster.unreachable, []);

    const circle = await json<{
      views: { slices: number[]; shares: Record<string, number>; seenBy: string[] }[];
    }>(`${api}/circle`);
    const [view] = circle.views;
    assert.deepEqual(view?.seenBy, ['a1', 'a2']);
    assert.equal(view?.slices.length, 720);
    const ofFirst = view.slices.filter((owner) => owner === 0).length / 720;
    assert.ok(
      Math.abs(ofFirst - view.shares.a1!) < 0.1,
      `${ofFirst} of the slices, ${view.shares.a1}`,
    );

    const whole = await json<Rows>(`${api}/hosts?sort=host&limit=1000`);
    const names = whole.rows.map(({ host }) => host);
    assert.ok(names.length > 8);
    assert.deepEqual(names, [...names].sort());
    for (const sort of ['', 'pages_queued', 'pages_done']) {
      const paged: unknown[] = [];
      let after: string | null = '';
      for (let pages = 0; after !== null && pages < 20; pages++) {
        const page: Rows = await json<Rows>(
          `${api}/hosts?limit=3${sort && `&sort=${sort}`}${after && `&after=${after}`}`,
        );
        assert.ok(page.rows.length <= 3);
        paged.push(...page.rows.map(({ host }) => host));
        after = page.next;
      }
      // The crawl may find more hosts meanwhile.
      const known = paged.filter((host) => names.includes(String(host)));
      if (sort === '') assert.deepEqual([known, paged.toSorted()], [names, paged]);
      else assert.ok(new Set(paged).size >= names.length / 2, `${sort}: ${paged.join()}`);
    }
    await refusal(`${api}/hosts?after=x`, {}, 400, 'cursor-invalid');
    await refusal(`${api}/frontier?host=${names[0]}&after=x`, {}, 400, 'cursor-invalid');
    await refusal(`${api}/frontier?host=${names[0]}&sort=depth`, {}, 400, 'query-invalid');
    await refusal(`${api}/hosts?limit=0`, {}, 400, 'query-invalid');
    await refusal(`${api}/hosts?colour=red`, {}, 400, 'query-invalid');
    const says = async (path: string, status: number, detail: RegExp, method = 'GET') => {
      const { text, ...answer } = await ask(`${api}${path}`, { method });
      assert.equal(answer.status, status, text);
      assert.match(text, detail);
    };
    await says('/hosts?agent=a9', 400, /a9.*known: a1, a2/);
    await says('/pages?host=no.test', 404, /no agent has the host/);
    await says('/hosts?colour=red', 400, /colour.*known: agent, state/);
    await says(
      '/agents/a1/moves?capacity=x',
      400,
      /capacity: .*; expected .*default.* or a number/,
    );
    await says('/agents/a1/moves?capacity=1001', 400, /capacity: .*1000/);
    await says('/directives/9', 405, /withdraw it: POST/, 'DELETE');
    await says('/directivesX', 404, /nothing is at/, 'DELETE');
    const host = String(whole.rows.find(({ pages_done }) => Number(pages_done) > 0)?.host);
    const pages = await json<Rows>(`${api}/pages?host=${host}`);
    assert.ok(pages.rows.length > 0 && pages.rows.every((row) => row.host === host));
    const page = String(pages.rows[0]?.url);
    const why = await json<{ state: string; owner: string }>(
      `${api}/explain?url=${encodeURIComponent(page)}`,
    );
    assert.equal(why.state, 'response');
    await refusal(`${api}/explain?url=--help`, {}, 400, 'command-invalid');

    const counted = await json<{ rows: { n: number }[]; problems: string[] }>(`${api}/query`, {
      method: 'POST',
      body: { sql: 'SELECT count(*) AS n FROM hosts' },
    });
    assert.ok(Number(counted.rows[0]?.n) >= names.length);
    for (let k = 0; k < 3; k++) {
      await json(`${api}/query`, { method: 'POST', body: { sql: 'SELECT 1 AS one' } });
    }
    await refusal(
      `${api}/query`,
      { method: 'POST', body: { sql: 'DELETE FROM pages' } },
      400,
      'query-failed',
    );
    await refusal(
      `${api}/query`,
      { method: 'POST', body: { sql: "ATTACH '/etc/passwd' AS x" } },
      400,
      'query-failed',
    );
    // The random rows are sorted in a file, which may not become so large.
    const sorted = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000)
      SELECT length(r) FROM (SELECT randomblob(3000) AS r FROM c ORDER BY r) LIMIT 1`;
    await refusal(
      `${api}/query`,
      { method: 'POST', body: { sql: sorted } },
      413,
      'query-too-costly',
    );
    const body = JSON.stringify({ sql: sorted });
    const headers = { 'content-type': 'application/json' };
    const ended = await Promise.all(
      [1, 2, 3].map(() => fetch(`${api}/query`, { method: 'POST', headers, body })),
    );
    const said = ended.map(({ status, headers: of }) => `${status} ${of.get('retry-after')}`);
    // The others end by the limit on files, or on a busy machine by the limit on time.
    const over = said.filter((text) => /^(?:413|504) null$/.test(text));
    assert.deepEqual([over.length, said.filter((text) => text === '503 1').length], [2, 1]);
    const texts = 'SELECT hex(zeroblob(2e8)) AS a, hex(zeroblob(2e8 + 1)) AS b, count(*) LIMIT -1';
    const huge = `SELECT length(a) + length(b) FROM (${texts} OFFSET 0)`;
    await refusal(`${api}/query`, { method: 'POST', body: { sql: huge } }, 413, 'query-too-costly');

    const threadsOf = async (id: string) => {
      const { agents } = await json<{ agents: { id: string; threads: number }[] }>(
        `${api}/cluster`,
      );
      return agents.find((agent) => agent.id === id)?.threads;
    };
    const before = await threadsOf('a1');
    const pause = { method: 'POST', headers: steering, body: { kind: 'pause' } };
    assert.deepEqual(await json(`${api}/directives`, pause), { a1: 'applied', a2: 'applied' });
    await untilAsked('both agents are known to be paused', async () => {
      const [order] = await json<{ kind: string; applied: string[] }[]>(`${api}/directives`);
      const { agents } = await json<{ agents: { paused: boolean }[] }>(`${api}/cluster`);
      const isPaused = agents.every(({ paused }) => paused);
      return isPaused && order?.kind === 'pause' && order.applied.join() === 'a1,a2';
    });
    await json(`${api}/directives`, { ...pause, body: { kind: 'resume' } });
    const delay = { kind: 'delay', host, delayMs: 1500 };
    await json(`${api}/directives`, { ...pause, body: delay });
    const {
      rows: [slowed],
    } = await json<Rows>(`${api}/hosts?search=${host}&sort=host`);
    assert.equal(slowed?.delay_ms, 1500);
    await json(`${api}/directives`, { ...pause, body: { kind: 'undelay', host } });
    await assertStillBlocked(`${api}/directives`, pause);
    for (const [value, threads] of [
      [5, 5],
      ['default', before],
    ] as const) {
      const body = { kind: 'threads', agent: 'a1', value };
      await json(`${api}/directives`, { ...pause, body });
      await untilAsked(
        `a1 has ${threads} threads`,
        async () => (await threadsOf('a1')) === threads,
      );
    }
    await refusal(
      `${api}/directives`,
      { ...pause, body: { kind: 'drain', agent: 'a9' } },
      400,
      'agent-unknown',
    );
    await refusal(
      `${api}/directives`,
      { ...pause, body: { kind: 'block', host: 'a b' } },
      400,
      'command-invalid',
    );
    await refusal(
      `${api}/directives`,
      { ...pause, body: { kind: 'explode' } },
      400,
      'body-invalid',
    );

    const { to, hosts } = await json<{ hosts: number; to: Record<string, number> }>(
      `${api}/agents/a2/moves`,
    );
    assert.deepEqual(Object.keys(to), ['a1']);
    assert.equal(to.a1, hosts);
    const left = await json<Record<string, string>>(`${api}/agents/a2/leave`, {
      method: 'POST',
      headers: steering,
    });
    assert.deepEqual(left, { a2: 'applied' });
    await until('a2 has left', () => /a2: .*1 agent of this launch c/.test(launch.stderr()));
    await untilAsked(
      'a1 is alone',
      async () => (await ask(`${api}/agents/a1/moves`)).status === 409,
    );
    const late = { ...pause, body: { kind: 'capacity', agent: 'a2', value: 1 } };
    const absent = { a1: 'applied', absentAgent: 'a2' };
    assert.deepEqual(await json(`${api}/directives`, late), absent);
    await refusal(`${api}/agents/a1/moves`, {}, 409, 'last-agent');
    const leave = { method: 'POST', headers: steering };
    await refusal(`${api}/agents/a1/leave`, leave, 409, 'last-agent');
    await refusal(`${api}/agents/a9/moves`, {}, 404, 'agent-unknown');
    await refusal(`${api}/agents/a9/leave`, leave, 404, 'agent-unknown');

    await assertHistory(api);
    const metrics = await ask(`${url}/metrics`);
    assert.match(metrics.text, /^ubiring_joined\{agent="a1"\} 1$/m);
    assert.match(metrics.text, /^# TYPE ubiring_fetched_pages_total counter$/m);
    assert.ok(!metrics.text.includes(host), 'a host is a label');
    assert.equal((await ask(`${url}/healthz`)).text, 'ok\n');
    await untilAsked('it is ready', async () => (await ask(`${url}/readyz`)).status === 200);
    await json(`${api}/stop`, { method: 'POST', headers: steering });
    const { code } = await launch.ended;
    assert.equal(code, 11, launch.stderr());
    assert.equal((await run('status', config)).code, 1);
    await assertReplay(config);
  });

  test('an agent serves what its config says, to holders of tokens', async (t) => {
    const web = await startWeb({ hosts: 3, pages: 40, port: 0, net: NET + 1 });
    const scratch = new Scratch();
    t.after(async () => {
      scratch.clean();
      await web.stop();
    });
    const more = {
      seeds: [web.seed],
      politeness: { hostDelayMs: 1000 },
      monitor: { listen: '127.0.0.1:0' },
    };
    const config = await scratch.config(1, more);
    const agent = start(['agent', config, '--id', 'a1'], { MONITOR_TOKENS: `read ${TOKEN}` });
    await until('it serves', () => /serves the dashboard/.test(agent.stderr()));
    const url = /"url":"([^"]+)\/"/.exec(agent.stderr())![1]!;
    await untilJoined(config, 'a1');
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      host: 'crawler.example.org',
      'x-forwarded-for': '10.0.0.1',
    };
    const { agents } = await json<{ agents: { dashboard: string }[] }>(`${url}/api/v1/cluster`, {
      headers,
    });
    assert.equal(agents[0]?.dashboard, `${url}/`);
    await refusal(
      `${url}/api/v1/directives`,
      { method: 'POST', headers, body: { kind: 'pause' } },
      403,
      'role-too-low',
    );
    agent.child.kill('SIGTERM');
    await agent.ended;
    const log = fs.readFileSync(`${scratch.dataDir}/a1/agent.log`, 'utf8');
    assert.ok(!log.includes(TOKEN));
  });
});

/** The receipt of an unblock names the pattern that still blocks the hosts. */
async function assertStillBlocked(url: string, order: Parameters<typeof ask>[1]): Promise<void> {
  const both = { a1: 'applied', a2: 'applied' };
  const give = (kind: string, host: string) => json(url, { ...order, body: { kind, host } });
  for (const pattern of ['a.away.test', '*.away.test']) await give('block', pattern);
  assert.deepEqual(await give('unblock', 'a.away.test'), {
    ...both,
    stillBlockedBy: '*.away.test',
  });
  assert.deepEqual(await give('unblock', '*.away.test'), both);
}

/** The members at each time, according to the events of a launch whose a2 has left. */
async function assertHistory(api: string): Promise<void> {
  const { span, changes } = await json<{
    span: { from: number; to: number };
    changes: { kind: string; id: string }[];
  }>(`${api}/history`);
  const of = (kind: string) => changes.filter((change) => change.kind === kind).map(({ id }) => id);
  assert.deepEqual([...new Set(of('join'))].sort(), ['a1', 'a2']);
  assert.ok(of('leave').includes('a2'));
  const membersAt = async (at: number) => {
    const { views } = await json<{ views: { seenBy: string[] }[] }>(`${api}/circle?at=${at}`);
    return views.flatMap(({ seenBy }) => seenBy);
  };
  assert.deepEqual(await membersAt(span.from - 1), []);
  assert.deepEqual(await membersAt(span.to + 60_000), ['a1']);
}

/** The dashboard of a crawl without running agents. */
async function assertReplay(config: string): Promise<void> {
  const replay = start(['replay', config]);
  await until('the replay is served', () => replay.stdout().includes('#replay'));
  const [, url] = /(http:\/\/\S+)\/#replay/.exec(replay.stdout())!;
  await assertHistory(`${url}/api/v1`);
  const { agents, unreachable, problems } = await json<{
    agents: [];
    unreachable: string[];
    problems: { remedy: string }[];
  }>(`${url}/api/v1/cluster`);
  assert.match(String(problems[0]?.remedy), /^start them: .*launch /);
  assert.deepEqual([agents, unreachable], [[], ['a1', 'a2']]);
  replay.child.kill('SIGINT');
  assert.equal((await replay.ended).code, 0);
}
