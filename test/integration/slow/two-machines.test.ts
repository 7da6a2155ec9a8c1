// Agents on two machines, as two data directories of this one: queries and lists over both through
// the API of any agent.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { type RunningWeb, startWeb } from '../../web/server.ts';
import {
  call,
  patient,
  type Running,
  run,
  Scratch,
  start,
  until,
  untilAsked,
  untilJoined,
} from '../cli-process.ts';

const NET = 119;
const hosts = 30;
const TOKEN = 'read,token;of-the-test-0123456789';

interface Page {
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
  readonly next: string | null;
  readonly problems: readonly string[];
}

/** Agents a1 and a2 on one machine and a3 on another, in a paused crawl. */
class Machines {
  readonly first = new Scratch();
  readonly second = new Scratch();
  /** The same config on both machines. */
  config = '';
  other = '';
  /** The URL of the API by agent. */
  api: ReadonlyMap<string, string> = new Map();
  #web: RunningWeb | null = null;
  #third: Running | null = null;

  get third(): Running {
    return this.#third!;
  }

  async start(cluster: object = {}): Promise<void> {
    const { first, second } = this;
    const web = await startWeb({ hosts, pages: 400, port: 0, net: NET });
    this.#web = web;
    const more = {
      // Each host is a seed: all hosts have pages after few requests.
      seeds: Array.from({ length: hosts }, (_, host) => `${web.web.origin(host)}/`),
      politeness: { hostDelayMs: 1500 },
      monitor: { listen: '127.0.0.1:0', tokens: 'tokens.txt' },
    };
    this.config = await first.config(3, more, { ...cluster });
    this.giveTokens();
    this.other = second.write('crawl.json', fs.readFileSync(this.config, 'utf8'));
    for (const id of ['a1', 'a2']) start(['agent', this.config, '--id', id]);
    this.#third = start(['agent', this.other, '--id', 'a3']);
    await untilJoined(this.config, 'a1', 'a2', 'a3');
    await until('many hosts have pages', () => {
      const pages = web.requests().filter(({ path }) => path !== '/robots.txt');
      return new Set(pages.map(({ host }) => host)).size > 20;
    });
    // So that the crawl does not end before the tests.
    // It ends with 1 if an agent has not obeyed yet.
    await run('pause', this.config);
    await untilAsked('all agents have paused', async () => {
      const { agents } = JSON.parse((await run('status', this.config, '--json')).stdout) as {
        agents: { id: string; paused: boolean; dashboard: string }[];
      };
      this.api = new Map(agents.map(({ id, dashboard }) => [id, `${dashboard}api/v1`]));
      return agents.length === 3 && agents.every(({ paused }) => paused);
    });
  }

  /** Writes the files of tokens with which the agents are started. */
  giveTokens(): void {
    this.first.write('tokens.txt', `read ${'1'.repeat(20)}\nsteer ${TOKEN}\n`);
    this.second.write('tokens.txt', `read ${'2'.repeat(20)}\nsteer ${TOKEN}\n`);
  }

  async stop(): Promise<void> {
    this.first.clean();
    this.second.clean();
    await this.#web?.stop();
  }
}

async function json<T>(url: string, body?: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const post = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(url, body ? post : {});
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as T;
}

const BY_AGENT = 'SELECT agent, count(*) AS hosts FROM hosts GROUP BY agent ORDER BY agent';

const agentsIn = (rows: string) =>
  (JSON.parse(rows) as { agent: string }[]).map(({ agent }) => agent);

// An agent that is silent here remains a member. Agents end in the last of these tests.
describe('two machines whose agents remain members', { concurrency: 1 }, () => {
  const machines = new Machines();
  before(() => machines.start(patient));
  after(() => machines.stop());

  test('queries and lists show the agents of all machines', async (t) => {
    const { config, other, api, first, second } = machines;

    for (const file of [config, other]) {
      const asked = await run('query', file, '--json', BY_AGENT);
      assert.equal(asked.code, 0, asked.stderr);
      assert.deepEqual(agentsIn(asked.stdout), ['a1', 'a2', 'a3']);
    }
    // A join reads two views, and the files of both machines have the same hosts as the lists.
    const joined = await run(
      'query',
      other,
      '--json',
      'SELECT DISTINCT h.host FROM hosts h JOIN pages p USING (host) ORDER BY h.host',
    );
    const withPages = (JSON.parse(joined.stdout) as { host: string }[]).map(({ host }) => host);
    assert.ok(withPages.length > 15, joined.stdout);

    // The servers, also their queries, use the tokens with which they were started.
    for (const machine of [first, second]) machine.write('tokens.txt', 'read not-yet\n');
    t.after(() => machines.giveTokens());
    for (const [id, url] of api) {
      const whole = await json<Page>(`${url}/hosts?sort=host&limit=1000`);
      assert.deepEqual(whole.problems, []);
      const hosts = whole.rows.map(({ host }) => host);
      assert.deepEqual([...new Set(whole.rows.map(({ agent }) => agent))].sort(), [
        'a1',
        'a2',
        'a3',
      ]);
      assert.deepEqual(hosts, [...hosts].sort());
      const paged: unknown[] = [];
      for (let after: string | null = ''; after !== null; ) {
        const page: Page = await json<Page>(
          `${url}/hosts?sort=host&limit=7${after && `&after=${after}`}`,
        );
        paged.push(...page.rows.map(({ host }) => host));
        after = page.next;
      }
      assert.deepEqual(paged, hosts, `${id} misses hosts at the end of a page`);
      for (const agent of ['a1', 'a3']) {
        const own = await json<Page>(`${url}/hosts?agent=${agent}`);
        assert.deepEqual([...new Set(own.rows.map((row) => row.agent))], [agent]);
        const host = String(own.rows.find(({ pages_done }) => Number(pages_done) > 0)?.host);
        const pages = await json<Page>(`${url}/pages?host=${host}`);
        assert.ok(pages.rows.length > 0 && pages.rows.every((row) => row.agent === agent));
        const gone = await json<{ agent: string; hosts: number }>(`${url}/agents/${agent}/moves`);
        assert.ok(gone.agent === agent && gone.hosts > 0, JSON.stringify(gone));
      }
      const history = await json<{ agents: { id: string }[] }>(`${url}/history`);
      assert.deepEqual(history.agents.map((one) => one.id).sort(), ['a1', 'a2', 'a3']);
      const { rows, problems } = await json<Page>(`${url}/query`, { sql: BY_AGENT });
      assert.deepEqual([rows.map(({ agent }) => agent), problems], [['a1', 'a2', 'a3'], []]);
      assert.deepEqual(await agentsOfEvents(`${url}/events`, 3), ['a1', 'a2', 'a3']);
    }
    // The machines have their own files only.
    const found = [first, second].map(({ dataDir }) =>
      fs.readdirSync(dataDir).filter((n) => /^a\d$/.test(n)),
    );
    assert.deepEqual(found, [['a1', 'a2'], ['a3']]);

    for (const machine of [first, second]) machine.write('tokens.txt', `read ${TOKEN}\n`);

    // A state that exceeds the query's limit for files is not read, and the message names its agent.
    const small = { UBIRING_REMOTE_BYTES_MAX: String(4096) };
    const limited = await call(['query', config, '--json', BY_AGENT], small);
    assert.equal(limited.code, 4, limited.stdout);
    assert.match(limited.stderr, /a3: its API at \S+ has sent more than/);
    assert.deepEqual(agentsIn(limited.stdout), ['a1', 'a2']);
  });

  test('a state here of an agent that runs elsewhere is named and not read', async () => {
    const { api, config, first, second } = machines;
    const ids = ['a1', 'a2', 'a3'];
    // It is started on the wrong machine, too.
    const wrong = await start(['agent', config, '--id', 'a3']).ended;
    assert.equal(wrong.code, 5, wrong.stderr);
    const state = path.join(first.dataDir, 'a3', 'state.sqlite');
    assert.ok(fs.existsSync(state));

    const url = api.get('a1')!;
    const named = (sentences: readonly string[]) => {
      assert.equal(sentences.length, 1, sentences.join('\n'));
      assert.match(
        sentences[0]!,
        /^a3: it runs on another machine, so \S+a3 here is .* not read; move/,
      );
    };
    const checked = async () => {
      const asked = await run('query', config, '--json', BY_AGENT);
      assert.deepEqual([asked.code, agentsIn(asked.stdout)], [0, ids]);
      named([asked.stderr.trim()]);
      const answer = await json<Page>(`${url}/query`, { sql: BY_AGENT });
      assert.deepEqual(agentsIn(JSON.stringify(answer.rows)), ids);
      named(answer.problems);
      const listed = await json<Page>(`${url}/hosts?limit=1000`);
      assert.deepEqual([...new Set(listed.rows.map(({ agent }) => agent))].sort(), ids);
      named(listed.problems);
      const host = listed.rows.find(
        (row) => row.agent === 'a3' && Number(row.pages_done) > 0,
      )?.host;
      const { rows } = await json<Page>(`${url}/pages?host=${host}`);
      assert.ok(rows.length > 0 && rows.every(({ agent }) => agent === 'a3'));
      const here = await json<Page>(`${url}/hosts?limit=1000&scope=machine`);
      assert.ok(here.rows.length > 0 && here.rows.every(({ agent }) => agent !== 'a3'));
      const history = await json<{ agents: { id: string }[]; changes: { by: string }[] }>(
        `${url}/history`,
      );
      assert.deepEqual(history.agents.map(({ id }) => id).sort(), ids);
      assert.ok(history.changes.some(({ by }) => by === 'a3'));
      const moves = await json<{ hosts: number }>(`${url}/agents/a3/moves`);
      assert.ok(moves.hosts > 0);
      assert.equal((await fetch(`${url}/agents/a3/events`)).status, 404);
      assert.equal((await fetch(`${url}/agents/a3/holding`)).status, 404);
      assert.deepEqual(await agentsOfEvents(`${url}/events`, 3), ids);
      const cluster = await json<{ problems: { text: string }[] }>(`${url}/cluster`);
      assert.ok(cluster.problems.some(({ text }) => text.startsWith('a3: it runs on another')));
    };
    await checked();
    const away = path.join(first.directory, 'away');
    fs.renameSync(path.dirname(state), away);
    const asked = await run('query', config, '--json', BY_AGENT);
    assert.deepEqual([asked.code, agentsIn(asked.stdout), asked.stderr], [0, ids, '']);
    copyState(second, first);
    await checked();
    fs.rmSync(path.dirname(state), { recursive: true });
  });

  test('an agent whose server refuses the token gets no advice for a lost state', async (t) => {
    const { config, first } = machines;
    first.write('tokens.txt', `read ${'3'.repeat(20)}\n`);
    t.after(() => machines.giveTokens());
    const { code, stdout, stderr } = await run('query', config, '--json', BY_AGENT);
    assert.deepEqual([code, agentsIn(stdout)], [4, ['a1', 'a2']]);
    assert.match(stderr, /^a3: its API at \S+ has answered 401: [^\n]*\n$/);
  });

  test('an agent whose HTTP server hangs is named with the rows of the others', async (t) => {
    const { api, third } = machines;
    const server = serverOf(third.child.pid!);
    process.kill(server, 'SIGSTOP');
    t.after(() => process.kill(server, 'SIGCONT'));
    const { rows, problems } = await json<Page>(`${api.get('a1')}/query`, { sql: BY_AGENT });
    assert.deepEqual(
      rows.map(({ agent }) => agent),
      ['a1', 'a2'],
    );
    // The message says what to do; no state is lost.
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0]!, /^a3: its API at \S+ was too slow$/);
  });

  test('an agent that hangs is named as silent while it is a member', async (t) => {
    const { api, config, third } = machines;
    process.kill(third.child.pid!, 'SIGSTOP');
    t.after(() => third.child.kill('SIGCONT'));
    const asked = await json<Page>(`${api.get('a1')}/query`, { sql: BY_AGENT });
    const listed = await json<Page>(`${api.get('a1')}/hosts`);
    assert.deepEqual(
      asked.rows.map(({ agent }) => agent),
      ['a1', 'a2'],
    );
    const silent = 'a3: it does not answer, and its rows may be missing; look at its machine';
    assert.deepEqual([asked.problems, listed.problems], [[silent], [silent]]);

    process.kill(third.child.pid!, 'SIGCONT');
    await untilJoined(config, 'a1', 'a2', 'a3');
  });

  test('agents that end are named, and a state here is read once its agent is silent', async () => {
    const { api, config, first, second, third } = machines;
    const url = api.get('a1')!;
    // An agent that ends is named, and the rows of the others are printed.
    third.child.kill('SIGKILL');
    await third.ended;
    const without = await run('query', config, '--json', BY_AGENT);
    assert.equal(without.code, 4, without.stdout);
    assert.match(without.stderr, /a3/);
    assert.deepEqual(agentsIn(without.stdout), ['a1', 'a2']);

    // Without an answer of the agent, the state here is all there is.
    assert.equal((await fetch(`${url}/agents/a3/events`)).status, 404);
    copyState(second, first);
    await untilAsked('the state here is read', async () => {
      return (await fetch(`${url}/agents/a3/events`)).status === 200;
    });
    // An agent that has just ended here has not moved.
    process.kill(first.pid('a2')!, 'SIGKILL');
    const { stderr } = await run('query', config, '--json', BY_AGENT);
    assert.doesNotMatch(stderr, /a2: it runs on another machine/);
    const { problems } = await json<Page>(`${url}/hosts`);
    assert.doesNotMatch(problems.join('\n'), /a2: it runs on another machine/);
  });
});

describe('two machines whose agents are replaced', { concurrency: 1 }, () => {
  const machines = new Machines();
  before(() => machines.start());
  after(() => machines.stop());

  test('the URLs of a host that a dead agent still claims are counted once', async () => {
    const { first, config, other } = machines;
    await untilAsked('all pages are settled and copied', async () => {
      const { stdout } = await run('status', config, '--json');
      const { agents } = JSON.parse(stdout) as { agents: readonly Record<string, number>[] };
      return agents.every((one) =>
        ['openRequests', 'outbox', 'unsettled', 'unanswered', 'copyLag'].every(
          (name) => one[name] === 0,
        ),
      );
    });
    const sql = 'SELECT host, pages_done, pages_queued FROM hosts ORDER BY host';
    const whole = await run('query', config, '--json', sql);
    assert.equal(whole.code, 0, whole.stderr);

    process.kill(first.pid('a2')!, 'SIGKILL');
    await untilJoined(config, 'a1', 'a3');
    const [here, elsewhere] = await Promise.all([
      run('query', config, '--json', sql),
      run('query', other, '--json', sql),
    ]);
    assert.deepEqual([here.code, here.stderr], [0, '']);
    assert.equal(here.stdout, whole.stdout);
    // Only the state of the dead agent is missing there.
    assert.equal(elsewhere.stdout, whole.stdout);

    start(['agent', config, '--id', 'a2']);
    await untilJoined(config, 'a1', 'a2', 'a3');
  });

  test('an agent whose hosts others have taken over is not missing in a list', async () => {
    const { api, config, third } = machines;
    third.child.kill('SIGKILL');
    await third.ended;
    await untilJoined(config, 'a1', 'a2');
    const asked = await run('query', config, '--json', BY_AGENT);
    assert.equal(asked.code, 0, asked.stderr);
    assert.match(
      asked.stderr,
      /^a3: no state in .*; it is not a member now, so others own its hosts$/m,
    );
    const url = api.get('a1')!;
    const { rows, problems } = await json<Page>(`${url}/hosts?limit=1000`);
    assert.deepEqual(problems, []);
    const pages = await json<Page>(`${url}/pages?host=${rows[0]!.host}`);
    assert.deepEqual(pages.problems, []);
    assert.deepEqual((await json<{ problems: unknown[] }>(`${url}/history`)).problems, []);
  });
});

/** Copies the state of a3 to the other machine, with rows and without a lock. */
function copyState(from: Scratch, to: Scratch): void {
  const [running, copy] = [from, to].map(({ dataDir }) => path.join(dataDir, 'a3', 'state.sqlite'));
  fs.mkdirSync(path.dirname(copy!));
  const db = new Database(running!, { readonly: true });
  db.prepare('VACUUM INTO ?').run(copy!);
  db.close();
}

/** The process that serves HTTP for this agent. */
function serverOf(agent: number): number {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const [, pid] = new RegExp(`^ *(\\d+) +${agent} .*http-worker`, 'm').exec(all)!;
  return Number(pid);
}

/** Reads the stream until it has shown events of so many agents. */
async function agentsOfEvents(url: string, agents: number): Promise<string[]> {
  const seen = new Set<string>();
  const response = await fetch(url);
  let text = '';
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    for (const [, agent] of text.matchAll(/^data: \{"agent":"(\w+)"/gm)) seen.add(agent!);
    if (seen.size >= agents) break;
  }
  return [...seen].sort();
}
