import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type StateSource, StateStream } from '../../../../agent/cli/views/state-stream.ts';
import { StreamClient, sharedMessage } from '../../../../agent/cli/views/stream-client.ts';

const LIMIT = { timeout: 20_000 };

/** A client that is served, and what it reads. */
async function served(t: TestContext, isGzip: boolean) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const answer = fetch(`http://127.0.0.1:${port}/`);
  const [, response] = await once(server, 'request');
  const client = new StreamClient(response, { isGzip, hasState: true });
  client.write(': begun\n\n');
  const { headers, body } = await answer;
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const until = async (end: string): Promise<string> => {
    while (!text.endsWith(end)) {
      const { value, done } = await reader.read();
      assert.ok(!done, 'the stream has ended');
      text += value;
    }
    return text;
  };
  return { client, headers, until };
}

for (const isGzip of [false, true]) {
  test(
    `event stream: messages for all and for one, ${isGzip ? 'with' : 'without'} gzip`,
    LIMIT,
    async (t) => {
      const { client, headers, until } = await served(t, isGzip);
      assert.equal(headers.get('content-encoding'), isGzip ? 'gzip' : null);
      const states = ['{"a":1}', JSON.stringify(randomBytes(100_000).toString('hex')), '{}'];
      const long = `data: ${'é'.repeat(50_000)}\n\n`;
      let expected = ': begun\n\n';
      for (const [n, json] of states.entries()) {
        client.offer('cluster', await sharedMessage('cluster', Buffer.from(json)));
        client.write(long);
        client.write(`data: ${n}\n\n`);
        expected += `event: cluster\ndata: ${json}\n\n${long}data: ${n}\n\n`;
        // Each message is there without a later one.
        assert.equal(await until(`data: ${n}\n\n`), expected);
      }
    },
  );
}

/** Clients that keep what they are offered. */
function clientOf(hasState = true) {
  const offered: string[] = [];
  const offer = (_: string, { plain }: { plain: Buffer }) => void offered.push(plain.toString());
  return { client: { hasState, offer } as unknown as StreamClient, offered };
}

test(
  'state stream: a source that waits delays no other, and is not asked twice',
  LIMIT,
  async () => {
    const waiting = Promise.withResolvers<never>();
    const key = {};
    let [asked, made] = [0, 0];
    const ask = () => {
      asked++;
      return waiting.promise;
    };
    const json = () => {
      made++;
      return Buffer.from('1');
    };
    const sources: StateSource[] = [
      { event: 'cluster', ask },
      { event: 'circle', ask: async () => ({ key, json }) },
    ];
    const stream = new StateStream(sources);
    const [with_, without] = [clientOf(), clientOf(false)];
    for (let n = 0; n < 3; n++) {
      stream.look([with_.client, without.client]);
      while (with_.offered.length <= n) await new Promise(setImmediate);
    }
    assert.deepEqual([asked, made], [1, 1]);
    assert.equal(with_.offered[2], 'event: circle\ndata: 1\n\n');
    assert.deepEqual(without.offered, []);
    waiting.reject(new Error('no agent answers'));
    while (asked < 2) {
      await new Promise(setImmediate);
      stream.look([with_.client]);
    }
  },
);

test('event stream: a client is offered each state once, and none while it reads nothing', async () => {
  const written: unknown[] = [];
  const response = {
    writableLength: 0,
    writeHead: () => {},
    write: (it: unknown) => written.push(it),
  };
  const client = new StreamClient(response as never, { hasState: true });
  const [one, two] = [
    await sharedMessage('a', Buffer.from('1')),
    await sharedMessage('a', Buffer.from('2')),
  ];
  client.offer('a', one);
  client.offer('a', one);
  response.writableLength = 1;
  client.offer('a', two);
  assert.deepEqual(written, [one.plain]);
  response.writableLength = 0;
  client.offer('a', two);
  assert.deepEqual(written, [one.plain, two.plain]);
});
