import assert from 'node:assert/strict';
import fs from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { lockDirectory } from '../../agent/storage/file/database.ts';
import { slowly, stage } from './cli-launch-stage.ts';
import { listening, run, start, until } from './cli-process.ts';

async function pages(config: string): Promise<string[]> {
  const { stdout } = await run('query', config, 'SELECT url FROM pages ORDER BY 1', '--json');
  return (JSON.parse(stdout) as { url: string }[]).map(({ url }) => url);
}

// Two at a time: most of each is waiting for delays and for silence.
describe('launch', { concurrency: 2 }, () => {
  test('stop ends it with 11, the same launch again goes on and finishes with 0', async (context) => {
    const { scratch, crawl, served } = await stage(context);
    const config = await crawl(2, slowly);
    const first = start(['launch', config]);
    await until('both', () => ['a1', 'a2'].every((id) => scratch.pid(id) !== null));
    await served(3);
    const { stdout } = await run('status', config, '--json');
    const status = JSON.parse(stdout) as { agents: { id: string }[]; unreachable: string[] };
    assert.deepEqual([status.agents.map(({ id }) => id), status.unreachable], [['a1', 'a2'], []]);
    assert.ok((await pages(config)).length > 0);
    const stopped = await run('stop', config);
    assert.equal(stopped.stdout.split('\n').toSorted().join(' '), ' a1: applied a2: applied');
    const interrupted = await first.ended;
    assert.equal(interrupted.code, 11, interrupted.stderr);
    assert.match(interrupted.stderr, /interrupted; launch again to go on/);
    assert.equal(fs.existsSync(path.join(scratch.dataDir, 'complete.json')), false);
    const before = await pages(config);
    // The delay is part of what agents agree on, not of what a crawl is.
    const { politeness: _, ...quick } = JSON.parse(fs.readFileSync(config, 'utf8'));
    scratch.write('crawl.json', { ...quick, politeness: { hostDelayMs: 10 } });
    const resumed = await run('launch', config);
    assert.equal(resumed.code, 0, resumed.stderr);
    const all = await pages(config);
    assert.ok(all.length > before.length);
    assert.deepEqual(
      before.filter((url) => !all.includes(url)),
      [],
    );
  });

  test('a locked directory is 4, a port in use 5, and nothing is started or deleted', async (context) => {
    const { web, scratch, crawl } = await stage(context);
    const config = await crawl(2);
    const directory = path.join(scratch.dataDir, 'a2');
    fs.mkdirSync(directory, { recursive: true });
    const lock = lockDirectory(directory);
    assert.ok(lock.ok);
    const locked = await run('launch', config, '--fresh');
    assert.equal(locked.code, 4);
    assert.match(locked.stderr, /data\/a2 is in use by a running agent/);
    assert.ok(fs.existsSync(path.join(directory, 'agent.lock')));
    lock.unlock();

    const server = await listening(0);
    try {
      const { port } = server.address() as AddressInfo;
      const cluster = { agents: [{ id: 'a1', listen: `tcp://127.0.0.1:${port}` }] };
      const taken = scratch.write('taken.json', { seeds: [web.seed], cluster });
      for (const args of [
        ['launch', taken],
        ['agent', taken, '--id', 'a1'],
      ]) {
        const { code, stderr } = await run(...args, '--data', scratch.dataDir);
        assert.equal(code, 5, stderr);
        assert.match(
          stderr,
          new RegExp(`^(a1: |.*"agent":"a1").*tcp://127\\.0\\.0\\.1:${port}`, 'm'),
        );
        assert.equal(stderr.split(`127.0.0.1:${port}`).length, 2, `once is enough: ${stderr}`);
      }
    } finally {
      server.close();
    }
    const strange = path.join(scratch.dataDir, 'a1');
    fs.rmSync(strange, { recursive: true, force: true });
    fs.mkdirSync(strange);
    fs.writeFileSync(path.join(strange, 'thesis.txt'), 'irreplaceable');
    const refused = await run('launch', config, '--fresh');
    assert.deepEqual([refused.code, fs.readdirSync(strange)], [4, ['thesis.txt']]);
  });
});
