import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { childrenCpuMs, runMetered } from '../../../bench/metered-process.ts';
import { readLog, startServer } from '../../../bench/plain-server.ts';
import { PlainWeb } from '../../../bench/plain-web.ts';
import { freePort } from '../../../bench/ports.ts';

function scratch(t: TestContext): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-bench-test-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Pages that a crawler reaches from the seed through anchor links alone. */
function reached(directory: string, web: PlainWeb): Set<string> {
  const seen = new Set<string>([web.seed]);
  for (const url of seen) {
    const { hostname, pathname } = new URL(url);
    const file = path.join(directory, hostname, pathname === '/' ? 'index.html' : pathname);
    for (const [, href = ''] of fs.readFileSync(file, 'utf8').matchAll(/<a href="([^"]*)"/g)) {
      seen.add(new URL(href, url).href);
    }
  }
  return new Set([...seen].map((url) => new URL(url).hostname + new URL(url).pathname));
}

describe('bench: the web that all crawlers fetch', () => {
  it('bench: every page is reachable from the seed, and no link leaves the web', (t) => {
    const directory = scratch(t);
    const web = new PlainWeb({ hosts: 12, pages: 240, bodyBytes: 5_000 }, 8080);
    web.write(directory);
    assert.deepEqual(reached(directory, web), web.places());
  });

  it('bench: pages have about the requested size', (t) => {
    const web = new PlainWeb({ hosts: 2, pages: 20, bodyBytes: 20_500 }, 8080);
    const { bytesPerPage } = web.write(scratch(t));
    assert.ok(bytesPerPage > 20_500 && bytesPerPage < 21_500, `${bytesPerPage}`);
  });

  it('bench: refuses a number of pages that the hosts cannot share evenly', () => {
    assert.throws(() => new PlainWeb({ hosts: 3, pages: 10, bodyBytes: 1 }, 1), /10 pages on 3/);
  });
});

describe('bench: measuring', () => {
  it('bench: a log gives distinct pages, requests, and the time from the first to the last', () => {
    const log =
      '100.500 0.250 200 127.9.0.1 /\n101.000 0.100 200 127.9.0.1 /\n' +
      '102.000 0.001 404 127.9.0.1 /x\n103.250 0.000 200 127.9.0.2 /s1/p1.html\n';
    assert.deepEqual(readLog(log), {
      places: new Set(['127.9.0.1/', '127.9.0.2/s1/p1.html']),
      requests: 4,
      seconds: 3,
    });
  });

  it('bench: the second line of `times` is the time of the children', () => {
    assert.equal(childrenCpuMs('0m0.000s 0m0.000s\n1m2.500s 0m0.250s\n'), 62_750);
    assert.throws(() => childrenCpuMs('1.2 0.3\n'), /no times of a shell/);
  });

  it('bench: counts the processor time of all programs and their children', async () => {
    const burn = (ms: number) =>
      `const s = process.cpuUsage(); for (;;) { const u = process.cpuUsage(s); ` +
      `if (u.user + u.system > ${ms * 1000}) break; }`;
    const child = `require('child_process').execFileSync(process.execPath, ['-e', \`${burn(200)}\`])`;
    const command = [process.execPath, '-e', `${child}; ${burn(100)}`] as const;
    const one = { command, cwd: os.tmpdir() };
    const used = await runMetered([one, one], 60_000);
    assert.deepEqual(used.failures, []);
    assert.ok(used.cpuMs >= 590 && used.cpuMs < 6_000, `${used.cpuMs}`);
    assert.ok(used.rssBytesMax > 20 * 2 ** 20, `${used.rssBytesMax}`);
  });

  it('bench: reports a program that fails, with its output, or does not end', async () => {
    const cwd = os.tmpdir();
    const fails = { command: ['sh', '-c', 'echo no luck; exit 3'], cwd } as const;
    const hangs = { command: [process.execPath, '-e', 'setInterval(() => {}, 1e6)'], cwd } as const;
    const { failures } = await runMetered([fails, hangs], 1_000);
    assert.equal(failures.length, 2);
    assert.match(failures[0] ?? '', /ended with 3: no luck/);
    assert.match(failures[1] ?? '', /ended with null/);
  });

  it('bench: without nginx, the built-in server serves and logs the same', async (t) => {
    const directory = scratch(t);
    const port = await freePort();
    const web = new PlainWeb({ hosts: 1, pages: 2, bodyBytes: 1_000 }, port);
    web.write(path.join(directory, 'web'));
    const server = await startServer('node', path.join(directory, 'web'), port, directory);
    for (const target of ['/', '/s1/p1.html', '/nothing']) {
      await (await fetch(new URL(target, web.seed))).text();
    }
    const { places, requests } = await server.stop();
    assert.deepEqual(places, web.places());
    assert.equal(requests, 3);
  });
});
