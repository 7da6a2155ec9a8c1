// Strangers, agents of another version and agents with other settings connect to the ports of a
// running crawl. The log of the web server must show an undisturbed crawl, and an agent that is
// refused must be told the reason.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { ClusterStatus } from '../../../agent/cli/status/status-command.ts';
import { settingsOf } from '../../../agent/composition/config-parts.ts';
import type { Envelope, Message } from '../../../agent/core/protocol/messages.ts';
import { Transport } from '../../../agent/messaging/transport.ts';
import type { AgentEntry } from '../../../config/config.ts';
import { loadConfig } from '../../../config/file/load.ts';
import { fingerprintOf } from '../../../config/fingerprint.ts';
import { play } from '../../contract/messaging/kit.ts';
import { strangers } from '../../contract/messaging/strangers.ts';
import { holds, judge } from '../../web/judge.ts';
import { type RunningWeb, startWeb } from '../../web/server.ts';
import { type Running, run, Scratch, start, until } from '../cli-process.ts';
import { type Gate, startGate } from '../gate-server.ts';

const size = { hosts: 8, pages: 14, port: 0, shares: { flaky: 0, slow: 0 } };
const delayMs = 40;
/** Number of connections that are held open while the crawl runs. */
const heldConnections = 500;

/** Starts a web for one test, so that its log has only one crawl. */
async function webOf(t: TestContext, second: number): Promise<RunningWeb> {
  const web = await startWeb({ ...size, net: second });
  t.after(() => web.stop());
  return web;
}

function scratchOf(t: TestContext): Scratch {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  return scratch;
}

function assertUnharmed(web: RunningWeb): void {
  const judgement = judge(web.web, web.requests(), { delayMs });
  assert.ok(holds(judgement), JSON.stringify(judgement, null, 1));
}

/** Reads a config and the address of its agent `id`. */
function readConfig(file: string, id: string) {
  const loaded = loadConfig(file, { cwd: path.dirname(file) });
  assert.ok(loaded.ok);
  const { agents } = loaded.config.cluster;
  assert.ok(typeof agents !== 'number');
  const { listen } = agents.find((agent) => agent.id === id)!;
  return { config: loaded.config, listen, port: Number(listen.split(':').at(-1)) };
}

/** A fake agent that listens at an address of the config and sends what the test chooses. */
async function impostor(
  t: TestContext,
  id: string,
  listen: string,
  answer: (envelope: Envelope, send: (to: string, message: Message) => void) => void,
) {
  const inc = Date.now();
  const received: Message[] = [];
  const log = { debug: () => {}, warn: () => {} };
  const transport: Transport = new Transport({
    id,
    listen,
    log,
    onEnvelope: (envelope) => {
      received.push(envelope.message);
      answer(envelope, (address, message) => send(envelope.from, address, message));
    },
    onControl: (_, reply) => reply({ ok: false, result: null }),
  });
  const send = (to: { id: string; inc: number }, address: string, message: Message) => {
    const envelope = { from: { id, inc }, to, message };
    transport.send({ id: to.id, address }, envelope, 'control');
  };
  const bound = await transport.bind();
  assert.ok(bound.ok);
  t.after(() => transport.close({ lingerMs: 0 }));
  return { received, send, address: transport.endpoint ?? '' };
}

/** Repeats a message until it is answered, as agents do, since any message may be lost. */
async function untilAnswered(what: string, say: () => void, is: () => boolean): Promise<void> {
  say();
  const timer = setInterval(say, 500);
  try {
    await until(what, is);
  } finally {
    clearInterval(timer);
  }
}

test('garbage and held connections at every port do not disturb the crawl', async (t) => {
  const [web, scratch] = [await webOf(t, 45), scratchOf(t)];
  const config = await scratch.config(2, { seeds: [web.seed] });
  const launch = start(['launch', config]);
  await until('the first requests', () => web.requests().length > 5);
  const ports = ['a1', 'a2'].map((id) => readConfig(config, id).port);
  const held: net.Socket[] = [];
  for (let k = 0; k < heldConnections; k++) {
    const socket = net.connect({ port: ports[k % 2]!, host: '127.0.0.1' });
    held.push(socket.on('error', () => {}));
  }
  t.after(() => {
    for (const socket of held) socket.destroy();
  });
  const noise = Buffer.from(Array.from({ length: 4096 }, (_, k) => (k * 193 + (k >> 3)) % 256));
  await Promise.all(
    ports.flatMap((port) => [
      ...strangers.map(({ steps }) => play(port, steps)),
      play(port, [{ hex: noise.toString('hex') }]),
    ]),
  );
  const { code, stderr } = await launch.ended;
  assert.equal(code, 0, stderr);
  assertUnharmed(web);
  const log = fs.readFileSync(path.join(scratch.dataDir, 'a1', 'agent.log'), 'utf8');
  for (const refusal of ['wrong_version', 'bad_magic', 'bad_shape']) {
    assert.match(log, new RegExp(`"code":"${refusal}".*frame refused`));
  }
});

test('an agent ends with 5 and the reason if a joined agent of another version refuses it', async (t) => {
  const scratch = scratchOf(t);
  const file = await scratch.config(2);
  const { listen } = readConfig(file, 'a2');
  await impostor(t, 'a2', listen, ({ message }, send) => {
    if (message.type !== 'HELLO') return;
    const versions = { path: 'version.protocol', yours: '1', theirs: '999' };
    const { greeting = '' } = message;
    send(message.address, { type: 'REFUSED', greeting, ...versions, joined: true });
  });
  const { code, stderr } = await run('agent', file, '--id', 'a1');
  assert.equal(code, 5, stderr);
  assert.match(stderr, /a2 refused this one: version\.protocol is 1 here and 999 there/);
});

describe('a joined agent', () => {
  let gate: Gate;
  let web: RunningWeb;
  let launch: Running;
  /** The config of the crawl. Only its agent a1 runs, so a test may be a2. */
  let file: string;
  const scratch = new Scratch();
  const a1 = { id: 'a1', inc: 0 };
  before(async () => {
    [gate, web] = await Promise.all([startGate(), startWeb({ ...size, net: 46 })]);
    file = await scratch.config(2, { seeds: [web.seed, gate.seed] });
    launch = start(['launch', file, '--agents', '1']);
    await until('the first requests', () => web.requests().length > 3);
  });
  after(async () => {
    scratch.clean();
    await Promise.all([gate.stop(), web.stop()]);
  });

  test('refuses an agent of another version with the version, and status --json counts refused claims by sender', async (t) => {
    const { config, listen: address } = readConfig(file, 'a2');
    const fake = await impostor(t, 'a2', address, () => {});
    const fingerprint = fingerprintOf(config, { protocol: 999, canonicalForm: 1 });
    const hello: Message = { type: 'HELLO', capacity: 1, address, fingerprint, n: 0 };
    const { listen } = readConfig(file, 'a1');
    fake.send({ id: 'a9', inc: 0 }, listen, hello);
    // The answer to this message shows that the message before it on the connection was read.
    const refused = () => fake.received.find(({ type }) => type === 'REFUSED');
    await untilAnswered(
      'the refusal',
      () => fake.send(a1, listen, hello),
      () => refused() !== undefined,
    );
    const { path: where, yours, theirs } = refused() as Extract<Message, { type: 'REFUSED' }>;
    assert.equal(where, 'version.protocol');
    assert.equal(yours, '999');
    assert.match(theirs, /^\d+$/);
    const { code, stdout, stderr } = await run('status', file, '--json');
    assert.equal(code, 0, stderr);
    const [status] = (JSON.parse(stdout) as ClusterStatus).agents;
    assert.deepEqual(status?.refused, [{ agent: 'a2', claim: 'hello', count: 1 }]);
  });

  test('lets an agent outside the config become a member after it has answered at its announced address', async (t) => {
    const { config, listen } = readConfig(file, 'a1');
    const agents = config.cluster.agents as readonly AgentEntry[];
    const { fingerprint } = settingsOf({ config, entry: agents[0]!, agents });
    const victim = await impostor(t, 'victim', 'tcp://127.0.0.1:*', () => {});
    const hello = { type: 'HELLO', capacity: 1, fingerprint, greeting: 'g', n: 0 } as const;
    let to = a1;
    const x = await impostor(t, 'x', 'tcp://127.0.0.1:*', ({ message, from }, send) => {
      if (message.type !== 'PROBE') return;
      to = from;
      send(listen, { ...hello, address: x.address, proof: message.nonce });
    });
    x.send(to, listen, { ...hello, address: victim.address });
    await until('a probe to the other address', () => victim.received.length > 0);
    x.send(to, listen, { ...hello, address: x.address });
    const isWelcome = () => x.received.some(({ type }) => type === 'WELCOME');
    await until('the welcome', isWelcome);
    assert.deepEqual(new Set(victim.received.map(({ type }) => type)), new Set(['PROBE']));
    x.send(to, listen, { type: 'LEAVE' });
  });

  test('refuses an agent with other settings, which ends with 5 and names the key and both values', async () => {
    const other = JSON.parse(fs.readFileSync(file, 'utf8'));
    const differing = scratch.write('other.json', { ...other, limits: { depthPerHost: 7 } });
    const renamed = scratch.write('renamed.json', { ...other, name: 'news', limits: { pages: 7 } });
    const { code, stderr } = await run('agent', differing, '--id', 'a2');
    assert.equal(code, 5, stderr);
    assert.match(stderr, /a1 refused this one: limits\.depthPerHost is 7 here and 16 there/);
    fs.rmSync(path.join(scratch.dataDir, 'a2'), { recursive: true });
    const stranger = await run('agent', renamed, '--id', 'a2');
    assert.equal(stranger.code, 5, stranger.stderr);
    assert.match(
      stranger.stderr,
      /a1 refused this one: name is \\*"news\\*" here and \\*"cli-test\\*" there/,
    );
  });

  test('crawls on undisturbed by all of them', async () => {
    gate.open();
    const { code, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    assertUnharmed(web);
  });
});
