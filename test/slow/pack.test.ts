// The package as users get it: packed, installed into an empty directory outside the checkout, and
// used through its command. Faults that only show there: TypeScript that Node.js refuses to run
// below node_modules, files that were not packed, paths into the checkout, runtime dependencies
// listed as devDependencies, parse threads and agents started by a name with another extension.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { holds, judge } from '../web/judge.ts';
import { startWeb } from '../web/server.ts';

const root = resolve(import.meta.dirname, '../..');
const npmMs = 300_000;
const commandMs = 120_000;
/** Second byte of loopback addresses that no other test's web uses. */
const net = 61;
const delayMs = 20;

interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(
  file: string,
  line: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv; timeout?: number },
): Promise<Ended> {
  return new Promise((done) => {
    const full = { timeout: commandMs, maxBuffer: 64 * 1024 * 1024, ...options };
    const child = execFile(file, line, full, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : (error.code ?? error.signal ?? 1), stdout, stderr });
    });
    child.stdin?.end();
  });
}

/**
 * npm variables of the machine that tell where packages come from. All others belong to the
 * checkout.
 */
const npmNames = new Set(['npm_config_registry', 'npm_config_cache', 'npm_config_userconfig']);

/** The environment of a user, without the variables of the npm script that may run this test. */
function strangersEnv(node: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('npm_') || npmNames.has(name),
  );
  const path = [dirname(node), process.env.PATH].join(delimiter);
  return { ...Object.fromEntries(kept), PATH: path, NO_COLOR: '1' };
}

/** The machine's own npm and Node.js, not those of this checkout. */
function npmEnv(): NodeJS.ProcessEnv {
  const ofCheckout = join(root, 'node_modules');
  const folders = (process.env.PATH ?? '').split(delimiter);
  const path = folders.filter((folder) => !folder.startsWith(ofCheckout)).join(delimiter);
  return { ...strangersEnv(process.execPath), PATH: path };
}

/** A Node.js older than 24 on the PATH, if there is one. */
async function olderNode(): Promise<string | null> {
  const folders = (process.env.PATH ?? '').split(delimiter);
  for (const node of new Set(folders.map((folder) => join(folder, 'node')))) {
    if (!existsSync(node)) continue;
    const { stdout } = await run(node, ['--version'], { cwd: root });
    const major = Number(/^v(\d+)\./.exec(stdout)?.[1] ?? NaN);
    if (major < 24) return node;
  }
  return null;
}

describe('the package, installed elsewhere', () => {
  let folder: string;
  let installed: string;
  const env = strangersEnv(process.execPath);
  const ubiring = (...line: string[]) =>
    run(join(folder, 'node_modules/.bin/ubiring'), line, { cwd: folder, env });

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ubiring-pack-'));
    installed = join(folder, 'node_modules/ubiring');
    const tarballs = join(folder, 'tarballs');
    mkdirSync(tarballs);
    const pack = ['pack', '--pack-destination', tarballs];
    const packed = await run('npm', pack, { cwd: root, env: npmEnv(), timeout: npmMs });
    assert.equal(packed.code, 0, packed.stderr);
    const [tarball = ''] = readdirSync(tarballs);
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
    const install = ['install', '--no-audit', '--no-fund', join(tarballs, tarball)];
    const done = await run('npm', install, { cwd: folder, env: npmEnv(), timeout: npmMs });
    assert.equal(done.code, 0, done.stderr);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('contains the compiled program, its licence and its documents, and no tests', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => !file.startsWith('node_modules/'));
    for (const needed of [
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
      'docs/CONFIG.md',
      'config/example.yaml',
      'dist/agent/main.js',
      'dist/agent/agent.d.ts',
      'dist/agent/parse/parse-worker.js',
    ]) {
      assert.ok(files.includes(needed), needed);
    }
    const foreign = files.filter(
      (file) => /(^|\/)test\/|^agent\/|^data\//.test(file) || /(?<!\.d)\.ts$/.test(file),
    );
    assert.deepEqual(foreign, []);
  });

  it('prints its commands and its version', async () => {
    const help = await ubiring('--help');
    assert.equal(help.code, 0, help.stderr);
    const commands = ['launch', 'agent', 'status', 'top', 'query', 'owner', 'ring', 'stop', 'kill'];
    for (const command of commands) {
      assert.match(help.stdout, new RegExp(`^  ${command} `, 'm'));
    }
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    assert.equal((await ubiring('--version')).stdout.trim(), version);
  });

  it('checks the example config of the package, and computes owners', async () => {
    const example = join(installed, 'config/example.yaml');
    const checked = await ubiring('config', 'check', example);
    assert.equal(checked.code, 0, checked.stderr);
    assert.match(checked.stdout, /example\.yaml is valid/);
    const owner = await ubiring('owner', example, 'example.org');
    assert.equal(owner.code, 0, owner.stderr);
    const { host, order } = JSON.parse(owner.stdout);
    assert.deepEqual([host, order.toSorted()], ['example.org', ['a1', 'a2']]);
  });

  it('launches a cluster that completes a polite crawl, according to the web server', async () => {
    const shares = { flaky: 0, slow: 0 };
    const web = await startWeb({ hosts: 8, pages: 10, seed: 3, port: 0, net, shares });
    try {
      const config = {
        name: 'packed',
        seeds: [web.seed],
        scope: { hosts: ['*'] },
        politeness: { hostDelayMs: delayMs },
        http: { userAgent: 'packed (+https://example.org/)', allowPrivateAddresses: true },
        cluster: { agents: 2, failureDetector: { heartbeatMs: 200, suspectAfterMs: 3000 } },
      };
      await writeFile(join(folder, 'crawl.json'), JSON.stringify(config));
      const launched = await ubiring('launch', 'crawl.json');
      assert.equal(launched.code, 0, launched.stderr);
      const judgement = judge(web.web, web.requests(), { delayMs });
      assert.ok(holds(judgement), JSON.stringify(judgement, null, 2));
      const sql = 'SELECT count(DISTINCT host) AS hosts, count(*) AS pages FROM pages';
      const asked = await ubiring('query', 'crawl.json', sql, '--json');
      const [{ hosts, pages }] = JSON.parse(asked.stdout);
      assert.equal(hosts, 8, asked.stderr);
      assert.ok(pages >= judgement.expected, `${pages} pages of ${judgement.expected}`);
    } finally {
      await web.stop();
    }
  });

  it('provides types for a TypeScript program', async () => {
    const program = [
      "import { Ring } from 'ubiring/dist/assignment/ring.js';",
      "import { type RunningAgent, startAgent } from 'ubiring/dist/agent/agent.js';",
      'export const start: typeof startAgent = startAgent;',
      'export const stop = (agent: RunningAgent): void => agent.stop();',
      '// @ts-expect-error: a ring is no number, if its type is known at all',
      'export const no: number = Ring;',
    ];
    await writeFile(join(folder, 'program.mts'), `${program.join('\n')}\n`);
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const flags = '--noEmit --strict --skipLibCheck --module nodenext --target es2024'.split(' ');
    const line = [tsc, ...flags, 'program.mts'];
    const compiled = await run(process.execPath, line, { cwd: folder });
    assert.equal(compiled.code, 0, compiled.stdout);
  });

  it('prints one line on an older Node.js: Node 24 is needed', async (t) => {
    const node = await olderNode();
    if (node === null) return t.skip('no Node older than 24 on the path');
    const command = join(installed, 'bin/ubiring.js');
    const { code, stdout, stderr } = await run(node, [command, '--help'], { cwd: folder });
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^ubiring needs Node 24 or newer; this is v\d+\.[^\n]*\n$/);
  });
});
