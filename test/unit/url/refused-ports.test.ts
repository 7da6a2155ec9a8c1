import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedPortOf } from '../../../agent/url/refused-ports.ts';

const ports = Array.from({ length: 65_535 }, (_, at) => at + 1);
const refused = (port: number) => refusedPortOf(`http://127.0.0.1:${port}/`) !== null;

test('refused ports: Node, which follows the Fetch Standard, refuses each of them, too', async () => {
  const list = ports.filter(refused);
  assert.ok(list.length > 80);
  for (const port of list) {
    const error = await fetch(`http://127.0.0.1:${port}/`).catch((thrown: Error) => thrown);
    assert.ok(error instanceof Error && error.cause instanceof Error, String(port));
    assert.equal(error.cause.message, 'bad port', String(port));
  }
});

test('refused ports: only the port counts, and the default port of the scheme is allowed', () => {
  assert.equal(refusedPortOf('http://a.test:25'), 25);
  assert.equal(refusedPortOf('https://[::1]:22/x:80/'), 22);
  assert.equal(refusedPortOf('http://a.test:0/'), 0);
  for (const path of ['/', ':8080/', '/:25/', '/x?http://b.test:25/', ':250/', ':65535/']) {
    assert.equal(refusedPortOf(`http://a.test${path}`), null, path);
  }
});
