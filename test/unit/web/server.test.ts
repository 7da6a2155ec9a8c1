// Tests the server of the synthetic web: it answers as the model says, logs each request correctly,
// and runs as a separate process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { Agent as SecureAgent, get as secureGet } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { answerOf } from '../../web/answer.ts';
import { readRequestLog } from '../../web/request-log.ts';
import { type RunningWeb, startWeb } from '../../web/server.ts';
import { type Got, walk } from './walk.ts';

const agent = new Agent({ keepAlive: true });
after(() => agent.destroy());

async function request(url: URL | string): Promise<Got> {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
  const headers = response.headers as Record<string, string>;
  return { status: response.statusCode ?? 0, headers, body: await buffer(response) };
}

async function withWeb(
  options: Parameters<typeof startWeb>[0],
  use: (running: RunningWeb) => Promise<void>,
): Promise<void> {
  const running = await startWeb({ port: 0, ...options });
  try {
    await use(running);
  } finally {
    await running.stop();
  }
}

const entry = fileUrl('../../web/server.ts');
function fileUrl(path: string): string {
  return new URL(path, import.meta.url).pathname;
}

describe('server', () => {
  it('serves TLS if configured, with one certificate for all hosts', async () => {
    await withWeb({ hosts: 300, pages: 2, tls: true }, async ({ web, seed, certificate }) => {
      assert.equal(seed, `https://127.8.0.1:${web.options.port}/`);
      const trusted = new SecureAgent({ ca: certificate!, keepAlive: false });
      for (const host of [0, 253, 254, 299]) {
        const asked = secureGet(`${web.origin(host)}/`, { agent: trusted });
        const [response] = (await once(asked, 'response')) as [IncomingMessage];
        assert.equal(response.statusCode, 200);
        assert.deepEqual(await buffer(response), Buffer.from(answerOf(web, host, '/', 1).body));
      }
      const stranger = secureGet(seed, { agent: new SecureAgent() });
      const [error] = (await once(stranger, 'error')) as [NodeJS.ErrnoException];
      assert.equal(error.code, 'DEPTH_ZERO_SELF_SIGNED_CERT');
    });
  });

  it('answers as the model does, also to a walk over the whole web', async () => {
    await withWeb({ hosts: 6, pages: 15, slowMs: 1 }, async ({ web, seed, requests }) => {
      const walked = await walk(seed, request);
      const { must } = web.expected();
      assert.deepEqual(
        [...must].filter((url) => !walked.visited.has(url)),
        [],
      );
      for (const url of must) {
        const { hostname, pathname, search } = new URL(url);
        const host = web.hostOf(hostname);
        const model = answerOf(web, host, pathname + search, 1);
        const served = await request(url);
        assert.equal(served.status, model.status, url);
        assert.deepEqual(Buffer.from(served.body), Buffer.from(model.body), url);
        assert.equal(served.headers.location, model.headers.location);
        assert.equal(served.headers['content-type'], model.headers['content-type']);
      }
      assert.ok(requests().length >= 2 * must.size);
    });
  });

  it('defers the first request to a flaky page, however it is spelled', async () => {
    await withWeb({ hosts: 1, pages: 40, shares: { flaky: 1, ...noOthers } }, async (running) => {
      const { web } = running;
      const url = web.origin(0) + web.path(0, 1);
      assert.equal((await request(url.replace('p1', '%701'))).status, 503);
      assert.equal((await request(url)).status, 200);
    });
  });

  it('answers 404 at addresses outside of the web', async () => {
    await withWeb({ hosts: 2 }, async ({ web }) => {
      const url = `http://127.${web.options.net}.0.3:${web.options.port}/`;
      assert.equal((await request(url)).status, 404);
    });
  });

  it('logs host, path, times, status and user agent of each request', async () => {
    await withWeb({ hosts: 2, answerMs: 30 }, async ({ web, requests }) => {
      const before = performance.timeOrigin + performance.now();
      const [response] = (await once(
        get(`${web.origin(1)}/ghost?x=1`, { headers: { 'user-agent': 'someone' } }),
        'response',
      )) as [IncomingMessage];
      await buffer(response);
      const [logged, ...others] = requests();
      assert.deepEqual(others, []);
      const { startMs, endMs, ...rest } = logged!;
      const host = web.address(1);
      const client = '127.0.0.1';
      assert.deepEqual(rest, {
        host,
        path: '/ghost?x=1',
        status: 404,
        userAgent: 'someone',
        client,
      });
      assert.ok(startMs >= before && endMs - startMs >= 29, `${startMs - before} ${endMs}`);
    });
  });

  it('logs status 0 if the client cancels its request', async () => {
    await withWeb({ hosts: 1, answerMs: 60_000 }, async ({ web, requests, seed }) => {
      const abandoned = get(seed);
      abandoned.on('error', () => {});
      await once(abandoned, 'socket').then(([socket]) => once(socket, 'connect'));
      const about = `http://127.0.0.1:${web.options.port}/`;
      await until(async () => open(await request(about)) === 1);
      abandoned.destroy();
      await until(async () => open(await request(about)) === 0);
      assert.deepEqual(
        requests().map(({ path, status }) => [path, status]),
        [['/', 0]],
      );
    });
  });

  it('fails if the port is in use', async () => {
    await withWeb({ hosts: 1 }, async ({ web }) => {
      const again = startWeb({ hosts: 1, port: web.options.port });
      await assert.rejects(again, /port \d+ is in use; end the program/);
    });
  });

  it('runs as a process that reports when it is ready, writes its log, and ends on SIGTERM', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'web-'));
    const log = join(folder, 'requests.jsonl');
    const flags = ['--hosts', '3', '--pages', '4', '--port', '0', '--net', '7', '--log', log];
    const child = spawn(process.execPath, [entry, ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
      const seed = /3 hosts, \d+ URLs, first (http:\/\/127\.7\.0\.1:\d+\/)$/.exec(line)?.[1];
      assert.ok(seed !== undefined, line);
      assert.equal((await request(seed)).status, 200);
      child.kill('SIGTERM');
      assert.deepEqual(await once(child, 'exit'), [0, null]);
      const logged = readRequestLog(log).map(({ host, path, status }) => [host, path, status]);
      assert.deepEqual(logged, [['127.7.0.1', '/', 200]]);
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    }
  });
});

const noOthers = { missing: 0, gone: 0, slow: 0, binary: 0, private: 0, nofollow: 0 };

function open({ body }: Got): number {
  return (JSON.parse(Buffer.from(body).toString()) as { open: number }).open;
}

/** Repeats the check until `holds`; each check is a round trip, so this is not a busy loop. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let asked = 0; asked < 2_000; asked++) if (await holds()) return;
  assert.fail('the condition never became true');
}
