// Spans of pages, as an SDK that the operator has loaded receives them.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Attributes, type TracerProvider, trace } from '@opentelemetry/api';
import type { PageRequest } from '../../../agent/core/protocol/effects.ts';
import type { Outcome } from '../../../agent/core/protocol/outcome.ts';
import { PageSpan } from '../../../agent/pipeline/page-span.ts';

const request = { kind: 'page', fetchUrl: 'http://h.test/a', host: 'h.test' } as PageRequest;

it('a span has the URL, the stages and the result; without an SDK nothing is recorded', () => {
  const silent = new PageSpan(request);
  silent.stage('fetched');
  silent.end({ kind: 'response', status: 200 } as Outcome);
  const heard: unknown[] = [];
  const span = {
    addEvent: (name: string) => heard.push(name),
    setAttribute: (name: string, value: unknown) => heard.push({ [name]: value }),
    setStatus: ({ message }: { message: string }) => heard.push(message),
    end: () => heard.push('end'),
  };
  const startSpan = (name: string, { attributes }: { attributes: Attributes }) => {
    heard.push({ name, ...attributes });
    return span;
  };
  const provider = { getTracer: () => ({ startSpan }) };
  trace.setGlobalTracerProvider(provider as unknown as TracerProvider);
  try {
    const good = new PageSpan(request);
    good.stage('fetched');
    good.stage('parsed');
    good.end({ kind: 'response', status: 404 } as Outcome);
    const bad = new PageSpan(request);
    bad.end({ kind: 'failure', code: 'dns', message: 'no such host' } as Outcome);
  } finally {
    trace.disable();
  }
  const start = { name: 'page', 'url.full': 'http://h.test/a', 'server.address': 'h.test' };
  assert.deepEqual(heard, [
    ...[start, 'fetched', 'parsed', { 'http.response.status_code': 404 }, 'end'],
    ...[start, { 'error.type': 'dns' }, 'no such host', 'end'],
  ]);
});
