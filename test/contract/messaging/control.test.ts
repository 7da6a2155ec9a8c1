// Commands of the command line to an agent, on real sockets: replies, refusals, time-outs and
// limits.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Dealer } from 'zeromq';
import { CONTROL_PENDING_MAX, PAYLOAD_BYTES_MAX } from '../../../agent/messaging/checks/limits.ts';
import { encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { askAgent } from '../../../agent/messaging/control-client.ts';
import type { ControlReply } from '../../../agent/messaging/control-desk.ts';
import { assertServes, envelope, play, station, until } from './kit.ts';

const limits = { timeout: 60_000 };

describe('control', limits, () => {
  it('control: answers a command without passing a message to the core', async (t) => {
    const target = await station(t, 'target');
    const answer = await askAgent(target.address, 'status', ['x', 'y'], 5000);
    assert.deepEqual(answer, { ok: true, result: { verb: 'status', args: ['x', 'y'] } });
    assert.deepEqual(target.received, []);
  });

  it('control: a command carries the name of its crawl, and a refusal names the crawl of the agent', async (t) => {
    const crawls: (string | undefined)[] = [];
    const other = await station(t, 'a1', {
      onControl: ({ crawl }, reply) => {
        crawls.push(crawl);
        reply({ ok: false, result: { crawl: 'shop' } });
      },
    });
    const answer = await askAgent(other.address, 'stop', [], 5000, 'news');
    assert.ok(!answer.ok);
    assert.deepEqual([crawls, answer.code, answer.otherCrawl], [['news'], 'refused', 'shop']);
    await askAgent(other.address, 'stop', [], 5000);
    assert.deepEqual(crawls, ['news', undefined]);
  });

  it('control: distinguishes a refusal from a missing answer', async (t) => {
    const refusing = await station(t, 'a1', {
      onControl: (_request, reply) => reply({ ok: false, result: 'not now' }),
    });
    const silent = await station(t, 'a2', { onControl: () => {} });
    const [no, none] = await Promise.all([
      askAgent(refusing.address, 'stop', [], 5000),
      askAgent(silent.address, 'stop', [], 400),
    ]);
    assert.deepEqual(no, { ok: false, code: 'refused', message: 'not now' });
    assert.ok(!none.ok);
    assert.equal(none.code, 'timeout');
  });

  it('control: reports an unreachable agent at once, before the deadline', async (t) => {
    const gone = await station(t, 'gone');
    await gone.transport.close({ lingerMs: 0 });
    const startedAt = performance.now();
    const answer = await askAgent(gone.address, 'status', [], 30_000);
    assert.ok(!answer.ok);
    assert.equal(answer.code, 'unreachable');
    assert.ok(performance.now() - startedAt < 10_000);
  });

  it('control: reports a server of another protocol and an invalid address as unreachable', async (t) => {
    const server = createServer((socket) => socket.on('error', () => {}).resume());
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, '127.0.0.1', resolve);
    await promise;
    t.after(() => server.close());
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const mute = await askAgent(`tcp://127.0.0.1:${address.port}`, 'status', [], 400);
    const bad = await askAgent('nonsense', 'status', [], 400);
    assert.ok(!mute.ok && !bad.ok);
    assert.deepEqual([mute.code, bad.code], ['unreachable', 'unreachable']);
  });

  it('control: many commands at once wait for a free socket', async (t) => {
    const target = await station(t, 'target');
    const asked = Array.from({ length: 400 }, () => askAgent(target.address, 'status', [], 60_000));
    const answers = await Promise.all(asked);
    const failed = answers.flatMap((answer) => (answer.ok ? [] : [answer.message]));
    assert.deepEqual(failed, []);
  });

  it('control: without a socket for events nobody is asked, and others can be closed', async () => {
    const client = new URL('../../../agent/messaging/control-client.ts', import.meta.url);
    // A process of its own, with room for one socket and half of what reports its events.
    const script = `
      import { context, Dealer } from 'zeromq';
      context.maxSockets = 2;
      const { askAgent, hasLostSockets } = await import('${client}');
      const before = hasLostSockets();
      const answer = await askAgent('tcp://127.0.0.1:1', 'status', [], 5000);
      const later = await askAgent('tcp://127.0.0.1:1', 'status', [], 5000);
      console.log(JSON.stringify([before, answer, later.code, hasLostSockets()]));
      process.kill(process.pid, 'SIGKILL');`;
    const node = [...process.execArgv, '--input-type=module', '--eval', script];
    const { stdout } = await promisify(execFile)(process.execPath, node, {
      cwd: import.meta.dirname,
    }).catch((error: { stdout: string }) => error);
    const [before, answer, later, after] = JSON.parse(stdout);
    const message = 'no socket can be opened: Too many open file descriptors';
    assert.deepEqual(answer, { ok: false, code: 'exhausted', message });
    assert.deepEqual([before, later, after], [false, 'exhausted', true]);
  });

  it('control: delivers an answer that the agent sends just before it exits', async (t) => {
    const target = await station(t, 'target', {
      onControl: (_request, reply) => {
        reply({ ok: true, result: 'bye' });
        void target.transport.close({ lingerMs: 1000 });
      },
    });
    assert.deepEqual(await askAgent(target.address, 'stop', [], 5000), { ok: true, result: 'bye' });
  });

  it('control: an agent that exits answers the commands that it has begun', async (t) => {
    const target = await station(t, 'target', {
      onControl: (_request, reply) => {
        void target.transport.close({ lingerMs: 1000 });
        setImmediate(() => reply({ ok: true, result: 'done' }));
      },
    });
    const answer = await askAgent(target.address, 'resume', [], 5000);
    assert.deepEqual(answer, { ok: true, result: 'done' });
  });

  it('control: refuses the command with a reason if the answer is too large', async (t) => {
    const result = 'x'.repeat(PAYLOAD_BYTES_MAX);
    const target = await station(t, 'target', {
      onControl: (_request, reply) => reply({ ok: true, result }),
    });
    const answer = await askAgent(target.address, 'status', [], 5000);
    assert.ok(!answer.ok);
    assert.match(answer.message, /too many/);
  });

  it('control: ignores a second answer to the same command', async (t) => {
    const target = await station(t, 'target', {
      onControl: (_request, reply) => {
        reply({ ok: true, result: 1 });
        reply({ ok: true, result: 2 });
      },
    });
    assert.deepEqual(await askAgent(target.address, 'status', [], 5000), { ok: true, result: 1 });
    assert.equal(target.transport.stats().controlPending, 0);
  });

  it('control: refuses commands beyond the pending limit as busy', async (t) => {
    const waiting: ControlReply[] = [];
    const target = await station(t, 'target', {
      onControl: (_request, reply) => waiting.push(reply),
    });
    const good = await station(t, 'good');
    const more = 10;
    const asked = Array.from({ length: CONTROL_PENDING_MAX + more }, () =>
      askAgent(target.address, 'status', [], 20_000),
    );
    const refusals = () => target.transport.stats().refused.control_busy ?? 0;
    await until('the commands beyond the limit are refused', () => refusals() === more);
    assert.equal(target.transport.stats().controlPending, CONTROL_PENDING_MAX);
    await assertServes(good, target, 'good');
    for (const reply of waiting) reply({ ok: true, result: 'at last' });
    const answers = await Promise.all(asked);
    assert.equal(answers.filter((answer) => answer.ok).length, CONTROL_PENDING_MAX);
    const busy = answers.filter((answer) => !answer.ok && answer.message.startsWith('busy'));
    assert.equal(busy.length, more);
  });

  it('control: a client that never reads does not block other clients', async (t) => {
    const result = 'y'.repeat(1000);
    const target = await station(t, 'target', {
      onControl: (_request, reply) => reply({ ok: true, result }),
    });
    const deaf = new Dealer({ linger: 0, receiveHighWaterMark: 1, receiveBufferSize: 1024 });
    t.after(() => deaf.close());
    deaf.connect(target.address);
    const nobody = { id: '', inc: 0 };
    for (let request = 0; request < 3000; request += 1) {
      const message = { type: 'CONTROL', request, verb: 'status', args: [] } as const;
      const encoded = encodeEnvelope({ from: nobody, to: nobody, message });
      assert.ok(encoded.ok);
      await deaf.send(encoded.frame);
    }
    await until('all commands are received', () => target.transport.stats().received === 3000);
    assert.ok((await askAgent(target.address, 'status', [], 5000)).ok);
  });

  it('control: passes a command that a member forwards to the core', async (t) => {
    const target = await station(t, 'target');
    const good = await station(t, 'good');
    const message = { type: 'CONTROL', request: 5, verb: 'status', args: [] } as const;
    const peer = { id: 'target', address: target.address };
    good.transport.send(peer, envelope('good', 'target', message), 'control');
    await until('it arrives', () => target.received.length === 1);
    assert.deepEqual(target.received[0]?.message, message);
  });

  const own = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === 'IPv4');

  it('control: refuses commands if the agent listens on a non-loopback address', {
    skip: !own,
  }, async (t) => {
    const asked: unknown[] = [];
    const target = await station(t, 'target', {
      listen: 'tcp://*:*',
      onControl: (request) => asked.push(request),
    });
    const good = await station(t, 'good');
    const address = `tcp://127.0.0.1:${target.port}`;
    const answer = await askAgent(address, 'stop', [], 5000);
    assert.ok(!answer.ok);
    assert.equal(answer.code, 'refused');
    assert.match(answer.message, /loopback/);
    const message = { type: 'CONTROL', request: 5, verb: 'stop', args: [] } as const;
    const peer = { id: 'target', address };
    good.transport.send(peer, envelope('good', 'target', message), 'control');
    const refusals = () => target.transport.stats().refused.control_remote;
    await until('the forged command is refused, too', () => refusals() === 2);
    assert.deepEqual([asked, target.received], [[], []]);
  });

  it('control: ignores an HTTP request with the content of a command', async (t) => {
    const asked: unknown[] = [];
    const target = await station(t, 'target', { onControl: (request) => asked.push(request) });
    const good = await station(t, 'good');
    const body = '{"message":{"type":"CONTROL","verb":"stop"}}';
    const request = `POST / HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    await play(target.port, [{ hex: Buffer.from(request).toString('hex') }]);
    await assertServes(good, target, 'good');
    assert.deepEqual(asked, []);
  });
});
