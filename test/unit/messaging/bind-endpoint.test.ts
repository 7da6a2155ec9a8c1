import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explainBindError, parseEndpoint } from '../../../agent/messaging/bind-endpoint.ts';

describe('endpoint', () => {
  const good: [string, boolean, boolean][] = [
    ['tcp://127.0.0.1:7101', true, false],
    ['tcp://127.8.9.10:*', true, false],
    ['tcp://localhost:7101', true, false],
    ['tcp://[::1]:7101', true, true],
    ['tcp://[0:0:0:0:0:0:0:1]:7101', true, true],
    ['tcp://[::]:7101', false, true],
    ['tcp://[fe80::1]:7101', false, true],
    ['tcp://0.0.0.0:7101', false, false],
    ['tcp://*:7101', false, false],
    ['tcp://10.0.0.5:65535', false, false],
    ['tcp://127.0.0.1.example:7101', false, false],
    ['ipc:///run/ubiring/a1', true, false],
  ];
  for (const [text, loopback, ipv6] of good) {
    it(`endpoint: ${text} is ${loopback ? '' : 'not '}local to this machine`, () => {
      const endpoint = parseEndpoint(text);
      assert.ok(!('ok' in endpoint));
      assert.deepEqual([endpoint.loopback, endpoint.ipv6], [loopback, ipv6]);
    });
  }

  const bad = [
    '',
    'nonsense',
    'http://127.0.0.1:7101',
    'tcp://127.0.0.1',
    'tcp://127.0.0.1:',
    'tcp://127.0.0.1:1x',
    'tcp://127.0.0.1:99999',
    'tcp://[127.0.0.1]:7101',
    'tcp://::1:7101',
    'tcp://127.0.0.1:1;127.0.0.1:2',
    'inproc://a1',
    'ipc://',
  ];
  for (const text of bad) {
    it(`endpoint: '${text}' is refused as an invalid endpoint`, () => {
      const endpoint = parseEndpoint(text);
      assert.ok('ok' in endpoint);
      assert.equal(endpoint.code, 'bad_endpoint');
    });
  }

  it('endpoint: each failure to bind names the endpoint and its cause', () => {
    const codes = ['EADDRINUSE', 'EADDRNOTAVAIL', 'ENODEV', 'EACCES'].map((code) => {
      const failure = explainBindError('tcp://x:1', Object.assign(new Error(code), { code }));
      assert.match(failure.message, /tcp:\/\/x:1/);
      return failure.code;
    });
    assert.deepEqual(codes, ['port_in_use', 'not_local', 'not_local', 'bad_endpoint']);
  });
});
