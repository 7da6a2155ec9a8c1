import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ConnectionPhase,
  failureOfConnection,
  urlScheme,
} from '../../../../agent/networks/redis/network-failure.ts';

const place = { network: 'berlin', host: 'h', port: 1 };

test('network failure: only an attempt blames TLS, and the scheme only the first attempts', () => {
  const said = (code: string, isTls: boolean, phase: ConnectionPhase) => {
    const error = Object.assign(new Error('x'), { code });
    const failure = failureOfConnection(place, error, urlScheme(isTls, false), phase);
    return `${failure.code}: ${failure.why.slice('h:1: '.length)}`;
  };
  const closed = 'unreachable: the connection was closed';
  assert.equal(
    said('ECONNRESET', false, 'first'),
    `${closed}; if it requires TLS, write rediss://`,
  );
  for (const phase of ['again', 'open'] as const) {
    assert.equal(said('ECONNRESET', false, phase), closed);
  }
  for (const phase of ['first', 'again', 'open'] as const) {
    assert.equal(said('ECONNRESET', true, phase), closed);
    assert.equal(said('ECONNREFUSED', true, phase), 'unreachable: ECONNREFUSED');
  }
  const mute = 'refused: it does not speak TLS; write redis:// or enable TLS there';
  assert.equal(said('EPROTO', true, 'first'), mute);
  assert.equal(said('EPROTO', true, 'again'), mute);
  const ended = 'ERR_SSL_UNEXPECTED_EOF_WHILE_READING';
  assert.equal(said(ended, true, 'again'), `refused: TLS fails (${ended})`);
  assert.equal(said(ended, true, 'open'), closed);
});
