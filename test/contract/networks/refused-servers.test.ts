import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { after, describe, test } from 'node:test';

import { setTimeout as pause } from 'node:timers/promises';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { Announcement } from '../../../agent/networks/redis/announcement.ts';
import { NetworkFailure } from '../../../agent/networks/redis/network-failure.ts';
import { freePort } from '../../../bench/ports.ts';
import { TEST_AUTHORITY, TEST_KEY, VALID_CERTIFICATE } from '../fetch/test-certificates.ts';
import {
  connected,
  digests,
  failureOf,
  frameOf,
  lookMs,
  opened,
  type PoolsChoice,
  verdictOf,
} from './networks-stage.ts';
import { RedisProcess, withoutRedis } from './redis-process.ts';

const run = promisify(execFile);
const secret = 's3cret-of-berlin';
const environment = { DEDUP_PASSWORD_BERLIN: secret };

/** The failure of the first attempt, which names network and server but no secret. */
async function refusal(choice: PoolsChoice, code = 'refused'): Promise<string> {
  const { pools, ready } = await opened(choice);
  const failure = await ready.then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof NetworkFailure, String(failure));
  const { host } = new URL(choice.url);
  assert.ok(failure.message.startsWith(`network berlin: Redis at ${host}: `), failure.message);
  assert.equal(failure.code, code, failure.message);
  assert.doesNotMatch(`${failure.stack} ${JSON.stringify(failure)}`, /s3cret/);
  // Commands say the same.
  await assert.rejects(pools.presence(), { message: failure.message });
  pools.close();
  return failure.message;
}

/** The URL of a server on loopback that is closed at the end. */
async function listening(server: net.Server): Promise<string> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `redis://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
}

/** A server that gives one answer to each chunk. */
function answering(answer: string): net.Server {
  return net.createServer((socket) => socket.on('data', () => socket.write(answer)));
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

describe('servers that are refused', () => {
  test('a web server is not Redis', async () => {
    const url = await listening(http.createServer((_, response) => response.end('hello')));
    assert.match(await refusal({ url }), /it is not a Redis server; check host and port$/);
  });

  test('a server that answers something else is not Redis', async () => {
    for (const answer of [bulk('hello'), ':7\r\n', '*0\r\n', '$-1\r\n', 'SSH-2.0-x\r\n']) {
      const url = await listening(answering(answer));
      assert.match(await refusal({ url }), /it is not a Redis server/, answer);
    }
  });

  test('a Redis that is too old is refused with its version', async () => {
    for (const version of ['5.0.14', '6.0.16']) {
      const url = await listening(answering(bulk(`redis_version:${version}\r\nrole:master\r\n`)));
      assert.match(await refusal({ url }), new RegExp(`it is Redis ${version}; upgrade it to 6.2`));
    }
  });

  test('the oldest Redis that suffices, and Valkey, are accepted', async () => {
    for (const version of ['6.2.0', '7.2.4', '10.0.1']) {
      const info = bulk(`redis_version:${version}\r\nrole:master\r\n`);
      const server = net.createServer((socket) => {
        socket.on('data', (bytes) => {
          const [, command] = /^\*\d+\r\n\$\d+\r\n(\w+)/.exec(String(bytes)) ?? [];
          if (command !== undefined) socket.write(command === 'INFO' ? info : ':1\r\n');
        });
      });
      const url = await listening(server);
      const { ready, pools } = await opened({ url });
      await ready;
      pools.close();
    }
  });

  test('a server that closes the connection may want TLS', async () => {
    const server = tls.createServer({ key: TEST_KEY, cert: VALID_CERTIFICATE });
    const url = await listening(server);
    assert.match(
      await refusal({ url }, 'unreachable'),
      /closed; if it requires TLS, write rediss:/,
    );
  });

  test('a certificate of an unknown authority is refused', async () => {
    const server = tls.createServer({ key: TEST_KEY, cert: VALID_CERTIFICATE });
    const url = (await listening(server)).replace('redis:', 'rediss:');
    assert.match(
      await refusal({ url, environment }),
      /its certificate is refused \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\); name its authority in/,
    );
  });

  test('a name that does not exist is not reached', async () => {
    const url = 'redis://nowhere.invalid:7';
    assert.match(await refusal({ url }, 'unreachable'), /ENOTFOUND|EAI_AGAIN/);
  });
});

describe('Redis servers that are refused', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;

  test('a password is needed, and must be right', async () => {
    const server = await RedisProcess.start('--requirepass', secret);
    const url = server.url();
    assert.match(
      await refusal({ url }),
      /requires a password; set DEDUP_PASSWORD_BERLIN or DEDUP_PASSWORD_BERLIN_FILE/,
    );
    const wrong = { DEDUP_PASSWORD_BERLIN: 's3cret but wrong' };
    assert.match(
      await refusal({ url, environment: wrong }),
      /the password or the user is wrong; set/,
    );
    assert.match(
      await refusal({ url: url.replace('//', '//crawler@') }),
      /: DEDUP_PASSWORD_BERLIN is not set, or the user is wrong; set DEDUP_PASSWORD_BERLIN or DEDUP/,
    );
    const pools = await connected({ url, environment });
    assert.equal((await pools.presence()).hasCentre, false);
  });

  test('a password may be in a file, and belong to a user of the ACL', async () => {
    const server = await RedisProcess.start('--user', 'crawler', 'on', `>${secret}`, '~*', '+@all');
    const file = path.join(server.directory, 'password');
    fs.writeFileSync(file, `${secret}\n`);
    const url = server.url().replace('//', '//crawler@');
    const pools = await connected({ url, environment: { DEDUP_PASSWORD_BERLIN_FILE: file } });
    assert.equal(await pools.link.call(['ACL', 'WHOAMI']), 'crawler');
  });

  test('a user without the right to a command is told so', async () => {
    const server = await RedisProcess.start('--user', 'crawler', 'on', `>${secret}`, '~*', '+ping');
    const url = server.url().replace('//', '//crawler@');
    const said = await refusal({ url: url.replace('crawler@', ''), environment }, 'refused');
    assert.match(said, /it has no password, but one was given/);
    const { ready } = await opened({ url, environment });
    const lacks = /the ACL of the user lacks a right that docs\/NETWORKS.md lists \("NOPERM .*info/;
    await assert.rejects(ready, lacks);
  });

  test('a server without AUTH is named without the password that it repeats', async () => {
    const server = await RedisProcess.start('--rename-command', 'AUTH', '');
    const url = server.url().replace('//', '//crawler@');
    const said = await refusal({ url, environment });
    assert.match(said, /is renamed or missing there \("ERR unknown command 'AUTH'"\)/);
  });

  test('the documented rights of a user suffice', async () => {
    const docs = fs.readFileSync(new URL('../../../docs/NETWORKS.md', import.meta.url), 'utf8');
    const [, rights = ''] = /^ACL SETUSER crawler on >PASSWORD (.+)$/m.exec(docs) ?? [];
    const user = ['--user', 'crawler', 'on', `>${secret}`, ...rights.split(' ')];
    const server = await RedisProcess.start(...user);
    const url = server.url().replace('//', '//crawler@');
    const pools = await connected({ url, environment });
    await pools.setFilled();
    assert.equal(await pools.lead('t', 60_000), true);
    const frame = frameOf('n', digests(3));
    await pools.submit(frame);
    await pools.ask({ ...frame, flag: 2 });
    for (const entry of (await pools.take(9, 9)).submitted) await pools.claim('t', entry);
    assert.equal((await pools.openFrames()).length, 1);
    await pools.settle('t', 'a1', verdictOf('n', 3), digests(1));
    assert.equal((await pools.verdicts('a1', '0', 9)).length, 1);
    await pools.finish(digests(2));
    assert.equal((await pools.marksOf(digests(3)))?.length, 3);
    await pools.release(digests(3));
    await pools.hold(digests(3));
    await pools.doubt(['http://a/']);
    await pools.examined(await pools.doubted(9));
    await pools.acquire('berlin', [{ host: 'h', delayMs: 5 }], 5000, 'g');
    await pools.releaseHosts('berlin', [{ host: 'h', delayMs: 5, grant: 'g' }]);
    await pools.mark('', 'work');
    await pools.give([{ url: 'http://a/', depth: 0 }], 'work gift');
    for (const { id } of await pools.gifts(9)) await pools.received([id], 'work');
    await pools.addFilled('a1');
    await pools.filledBy();
    await pools.presence();
    await pools.resign('t');
  });

  test('a user without a right that scripts need is told so when they begin', async () => {
    for (const [missing, named] of [
      ['time', "can't run this command"],
      ['evalsha', "'evalsha' command"],
    ] as const) {
      const rights = ['~ubiring:*', '+@all', `-${missing}`];
      const server = await RedisProcess.start('--user', 'crawler', 'on', `>${secret}`, ...rights);
      const url = server.url().replace('//', '//crawler@');
      const announcement = new Announcement(
        await connected({ url, environment }),
        'a',
        async () => true,
      );
      const { message } = await failureOf(announcement.make(5000));
      assert.match(message, /the ACL of the user lacks a right that docs\/NETWORKS.md lists \("/);
      assert.ok(message.includes(named), message);
    }
  });

  test('a server that evicts keys is refused, with the remedy', async () => {
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      const server = await RedisProcess.start('--maxmemory-policy', policy);
      assert.match(
        await refusal({ url: server.url() }),
        new RegExp(`maxmemory-policy ${policy} deletes keys.*set maxmemory-policy to noeviction`),
      );
      await server.stop();
      await server.start('--maxmemory-policy', 'noeviction');
      await connected({ url: server.url() });
    }
  });

  test('a replica is refused', async () => {
    const server = await RedisProcess.start('--replicaof', '127.0.0.1', '1');
    assert.match(await refusal({ url: server.url() }), /read-only replica; use the address of its/);
  });

  test('a database that does not exist is refused', async () => {
    const server = await RedisProcess.start();
    assert.match(
      await refusal({ url: server.url(99) }),
      /database number of its URL does not exist/,
    );
  });

  test('a server that begins to evict keys is warned of', async () => {
    const server = await RedisProcess.start();
    const pools = await connected({ url: server.url(), recheckMs: 10 });
    const set = (policy: string) => pools.link.call(['CONFIG', 'SET', 'maxmemory-policy', policy]);
    await set('allkeys-lru');
    while (pools.link.warning === null) await pause(lookMs);
    const { message } = pools.link.warning;
    assert.match(message, /allkeys-lru deletes keys.*set maxmemory-policy to noeviction there/);
    assert.equal(pools.link.failure, null);
    await set('noeviction');
    while (pools.link.warning !== null) await pause(lookMs);
  });

  test('TLS is used once its authority is named', async () => {
    const server = await RedisProcess.start();
    await server.stop();
    const files = { authority: TEST_AUTHORITY, certificate: VALID_CERTIFICATE, key: TEST_KEY };
    for (const [name, text] of Object.entries(files)) {
      fs.writeFileSync(path.join(server.directory, name), text);
    }
    const tlsPort = await freePort();
    const at = (name: string) => path.join(server.directory, name);
    const own = ['--tls-cert-file', at('certificate'), '--tls-key-file', at('key')];
    const more = ['--tls-ca-cert-file', at('authority'), '--tls-auth-clients', 'no'];
    await server.start('--tls-port', String(tlsPort), ...own, ...more);
    const program = path.join(import.meta.dirname, 'tls-pools.ts');
    const said = async (host: string, env: NodeJS.ProcessEnv) => {
      const args = [program, `rediss://${host}:${tlsPort}`];
      return (await run(process.execPath, args, { env: { ...process.env, ...env } })).stdout;
    };
    const named = { NODE_EXTRA_CA_CERTS: at('authority') };
    assert.equal(await said('127.0.0.1', named), 'centre: false\n');
    assert.equal(await said('localhost', named), 'centre: false\n');
    assert.match(await said('127.0.0.1', {}), /its certificate is refused/);
  });

  test('TLS to a server without TLS is refused', async () => {
    const server = await RedisProcess.start();
    const url = server.url().replace('redis:', 'rediss:');
    const said = await refusal({ url, environment, timeoutMs: 1500 }, 'unreachable');
    assert.match(said, /no connection in time; if it does not speak TLS, write redis:\/\/$/);
    // It does not close the connection: a reset could overtake its answer.
    const web = await listening(answering('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const other = await refusal({ url: web.replace('redis:', 'rediss:') });
    assert.match(other, /does not speak TLS; write redis:\/\//);
  });
});
