import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net, { type AddressInfo, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { temporaryDirectory } from '../../../bench/leftovers.ts';

const bench = path.resolve(import.meta.dirname, '../../../bench');

/**
 * A benchmark that prints its directory and measures a program that never ends. The program runs in
 * its own process group, and its connection stays open as long as it runs.
 */
async function started(t: TestContext, more = '') {
  const server = net.createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const program = `require('node:net').connect(${port}, '127.0.0.1').resume()`;
  const source = `
    import { temporaryDirectory } from ${JSON.stringify(path.join(bench, 'leftovers.ts'))};
    import { runMetered } from ${JSON.stringify(path.join(bench, 'metered-process.ts'))};
    const { directory } = temporaryDirectory();
    process.stdout.write(directory);
    process.stdin.once('data', () => { ${more} });
    const command = [process.execPath, '-e', ${JSON.stringify(program)}];
    await runMetered([{ command, cwd: directory }], 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [[directory], [connection]] = (await Promise.all([
    once(child.stdout.setEncoding('utf8'), 'data'),
    once(server, 'connection'),
  ])) as [[string], [Socket]];
  connection.on('error', () => {}).resume();
  assert.ok(fs.existsSync(directory));
  const ended = Promise.all([once(child, 'close'), once(connection, 'close')]);
  return { child, directory, ended: ended.then(([[code]]) => code as number | null) };
}

describe('bench: cleanup at exit', () => {
  for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
    it(`bench: ${signal} ends the program, removes its files and sets an exit code`, async (t) => {
      const { child, directory, ended } = await started(t);
      child.kill(signal);
      assert.equal(await ended, code);
      assert.ok(!fs.existsSync(directory));
    });
  }

  it('bench: an uncaught error leaves no process and no directory behind', async (t) => {
    const { child, directory, ended } = await started(t, "throw new Error('no luck')");
    child.stdin.write('now');
    assert.equal(await ended, 1);
    assert.ok(!fs.existsSync(directory));
  });

  it('bench: handles signals only while there is something to clean up', () => {
    const before = process.listenerCount('SIGHUP');
    const { directory, remove } = temporaryDirectory();
    assert.equal(process.listenerCount('SIGHUP'), before + 1);
    remove();
    assert.equal(process.listenerCount('SIGHUP'), before);
    assert.ok(!fs.existsSync(directory));
  });
});
