// The slower of the tests in `test/integration/cli-launch.test.ts`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { lockDirectory } from '../../../agent/storage/file/database.ts';
import { slowly, stage } from '../cli-launch-stage.ts';
import { call, run, Scratch, start, until } from '../cli-process.ts';

const mainFile = path.resolve(import.meta.dirname, '../../../agent/main.ts');

// Two at a time, since each test mostly waits for delays and time-outs.
describe('launch', { concurrency: 2 }, () => {
  test('launch ends with 0 if an agent is killed, and a complete crawl continues after new limits', async (context) => {
    const { web, scratch, crawl, served } = await stage(context);
    const config = await crawl(2);
    const launch = start(['launch', config]);
    await until('a2', () => scratch.pid('a2') !== null);
    await served(20);
    process.kill(scratch.pid('a2')!, 'SIGKILL');
    const { code, stdout, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /a2 was killed \(SIGKILL\); 1 agent of this launch continues/);
    assert.match(stdout, /^a1 .* complete$[\s\S]*^a2 .* killed \(SIGKILL\)$[\s\S]*^all /m);
    assert.match(stderr, /the crawl is complete\n[\s\S]*query .*crawl\.json "SELECT/);
    const note = JSON.parse(fs.readFileSync(path.join(scratch.dataDir, 'complete.json'), 'utf8'));
    assert.match(note.crawl, /^[0-9a-f]{32}$/);

    const requests = web.requests().length;
    const again = await call(['launch', config]);
    assert.equal(again.code, 0);
    assert.match(
      again.stderr,
      /the crawl is complete already; --refresh requests .*, --fresh starts over/,
    );
    const status = await run('status', config);
    assert.equal(status.code, 0, status.stderr);
    assert.match(status.stdout, /^the crawl was completed at 20.*Z with agents a1\n$/);
    const told = JSON.parse((await run('status', config, '--json')).stdout);
    assert.deepEqual([told.agents, told.unreachable], [[], ['a1', 'a2']]);
    assert.deepEqual(told.complete, { at: note.at, agents: ['a1'] });
    const agent = await call(['agent', config, '--id', 'a1']);
    assert.deepEqual([agent.code, web.requests().length], [0, requests]);

    const changed = JSON.parse(fs.readFileSync(config, 'utf8'));
    scratch.write('crawl.json', { ...changed, limits: { depthPerHost: 15 } });
    const resumed = await run('launch', config, '--agents', 'a1');
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.match(resumed.stderr, /the config has changed: the crawl continues/);
  });

  test('launch passes its config to its agents even if the file is deleted', async (context) => {
    const { crawl, scratch } = await stage(context);
    const config = await crawl(1);
    const launch = start(['launch', config]);
    // The agent starts right afterwards and takes longer to load than the deletion.
    await until('the launch', () => launch.stderr().includes('state in'));
    fs.rmSync(config);
    const { code, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    assert.ok(fs.existsSync(path.join(scratch.dataDir, 'complete.json')));
  });

  test('an agent started by hand leaves on SIGINT and ends with 0 even if its parent is a Node process', async (context) => {
    const { crawl, scratch, served } = await stage(context);
    const line = [mainFile, 'agent', await crawl(1, slowly), '--id', 'a1'];
    const child = spawn(process.execPath, line, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let stderr = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    context.after(() => child.kill('SIGKILL'));
    const ended = once(child, 'close');
    await until('a1', () => scratch.pid('a1') !== null);
    await served(1);
    // Agents of a launch ignore SIGINT, because the launch stops them.
    child.kill('SIGINT');
    const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
    const [code] = await ended;
    clearTimeout(late);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^a1: left/m);
    // Without a terminal the log goes to stderr, too.
    assert.match(stderr, /^\{"level":30,.*"agent":"a1"/m);
    assert.equal(fs.existsSync(path.join(scratch.dataDir, 'complete.json')), false);
  });

  test('an agent that is stopped hands over, and an interrupted launch stops all and ends with 11', async (context) => {
    const { scratch, crawl, served } = await stage(context);
    const config = await crawl(2, slowly);
    const launch = start(['launch', config]);
    await until('a2', () => scratch.pid('a2') !== null);
    await served(4);
    const left = await run('stop', config, 'a2');
    assert.deepEqual([left.code, left.stdout], [0, 'a2: applied\n']);
    await until('the message about a2', () => launch.stderr().includes('a2: left'));
    launch.child.kill('SIGINT');
    const { code, stdout } = await launch.ended;
    assert.equal(code, 11);
    assert.match(stdout, /^a1 .* interrupted$[\s\S]*^a2 .* left$/m);
    assert.equal(scratch.pid('a1'), null);
  });

  test('launch kills an agent that is suspended when the others have finished, and ends with 0', async (context) => {
    const { scratch, crawl, served } = await stage(context);
    const config = await crawl(2);
    const launch = start(['launch', config, '--agents', '2']);
    await until('a2', () => scratch.pid('a2') !== null);
    await served(20);
    process.kill(scratch.pid('a2')!, 'SIGSTOP');
    const { code, stdout, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /a2 is suspended and has nothing left to do: killed/);
    assert.match(stdout, /^a2 .* killed \(SIGKILL\)$/m);
  });

  test('agents continue after their launch is killed, and --fresh starts over once they have ended', async (context) => {
    const { web, scratch, crawl, served } = await stage(context);
    const config = await crawl(1, slowly);
    const launch = start(['launch', config]);
    await served(3);
    launch.child.kill('SIGKILL');
    await served(2);
    const busy = await call(['launch', config, '--fresh']);
    assert.deepEqual([busy.code, /in use by a running agent/.test(busy.stderr)], [4, true]);
    const killed = await run('kill', config, 'a1');
    assert.deepEqual([killed.code, killed.stdout], [0, 'a1: killed\n']);
    const foreign = path.join(scratch.dataDir, 'keep');
    fs.mkdirSync(foreign);
    const before = web.requests().length;
    const fresh = start(['launch', config, '--fresh']);
    await until('the first page again', () =>
      web
        .requests()
        .slice(before)
        .some((request) => request.path === '/'),
    );
    fresh.child.kill('SIGTERM');
    fresh.child.kill('SIGHUP');
    assert.equal((await fresh.ended).code, 11);
    assert.ok(fs.existsSync(foreign));
  });

  test('launch ends with 4 for a locked directory and for files of others, and deletes nothing', async (context) => {
    const scratch = new Scratch();
    context.after(() => scratch.clean());
    const config = await scratch.config(2);
    const directory = path.join(scratch.dataDir, 'a2');
    fs.mkdirSync(directory, { recursive: true });
    const lock = lockDirectory(directory);
    assert.ok(lock.ok);
    const locked = await call(['launch', config, '--fresh']);
    assert.equal(locked.code, 4);
    assert.match(locked.stderr, /data\/a2 is in use by a running agent/);
    assert.ok(fs.existsSync(path.join(directory, 'agent.lock')));
    lock.unlock();

    const strange = path.join(scratch.dataDir, 'a1');
    fs.rmSync(strange, { recursive: true, force: true });
    fs.mkdirSync(strange);
    fs.writeFileSync(path.join(strange, 'thesis.txt'), 'irreplaceable');
    const refused = await call(['launch', config, '--fresh']);
    assert.deepEqual([refused.code, fs.readdirSync(strange)], [4, ['thesis.txt']]);
  });
});
