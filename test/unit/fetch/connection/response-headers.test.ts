import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DialError } from '../../../../agent/fetch/address/dial.ts';
import { bodyCap, SKIMMED_BODY_BYTES_MAX } from '../../../../agent/fetch/body/body-cap.ts';
import { failureCode } from '../../../../agent/fetch/connection/failure-code.ts';
import {
  readContentType,
  readLocation,
  severalFields,
} from '../../../../agent/fetch/connection/response-headers.ts';

const MAX = 10 * 1024 * 1024;

test('body cap: content that may contain links is read completely', () => {
  const types = ['text/html', 'TEXT/HTML; charset=x', 'text/plain', 'application/xhtml+xml'];
  for (const type of [...types, 'application/json', 'image/svg+xml', 'nonsense', null]) {
    assert.equal(bodyCap('page', 200, type, MAX), MAX, String(type));
  }
});

test('body cap: only the beginning of content without links is read, but all of a robots.txt', () => {
  const types = ['image/png', 'Image/JPEG', 'video/mp4', 'audio/ogg', 'font/woff2'];
  const files = ['zip', 'pdf', 'octet-stream', 'x-tar', 'vnd.ms-excel', 'x-7z-compressed'];
  for (const type of [...types, ...files.map((file) => `application/${file}`)]) {
    assert.equal(bodyCap('page', 200, type, MAX), SKIMMED_BODY_BYTES_MAX, type);
    assert.equal(bodyCap('robots', 200, type, MAX), MAX, type);
  }
  assert.equal(
    bodyCap('page', 200, 'image/png', 100),
    100,
    'never above the maximum of the request',
  );
});

test('body cap: only the beginning of a redirect is read', () => {
  assert.equal(bodyCap('page', 301, 'text/html', MAX), SKIMMED_BODY_BYTES_MAX);
  assert.equal(bodyCap('robots', 308, null, MAX), SKIMMED_BODY_BYTES_MAX);
  assert.equal(bodyCap('page', 404, 'text/html', MAX), MAX);
});

test('response headers: the content type is trimmed, and an empty one is null', () => {
  assert.equal(readContentType(' text/html '), 'text/html');
  assert.equal(readContentType(' '), null);
  assert.equal(readContentType(undefined), null);
});

test('response headers: the last valid one of several content types counts', () => {
  const raw = ['Content-Type', 'text/plain', 'X', 'y', 'content-type', 'text/html;charset=gbk'];
  assert.equal(readContentType(severalFields(raw)['content-type']), 'text/html;charset=gbk');
  assert.equal(severalFields(['X', 'y'])['content-type'], undefined);
  assert.equal(readContentType('text/html;charset=gbk, text/html'), 'text/html;charset=gbk');
  assert.equal(readContentType('text/html, */*'), 'text/html');
  assert.equal(readContentType('text/html, nonsense'), 'text/html');
  assert.equal(readContentType('text/html;a="b, c/d"'), 'text/html;a="b, c/d"');
  assert.equal(readContentType('a, b'), 'a, b');
});

test('response headers: a Location in UTF-8 or Latin-1 bytes resolves to the right path', () => {
  const wire = (text: string, encoding: BufferEncoding) =>
    Buffer.from(text, encoding).toString('latin1');
  assert.equal(readLocation(302, wire('/ünï', 'utf8')), '/ünï');
  assert.equal(readLocation(302, wire('/café', 'latin1')), '/café');
  assert.equal(readLocation(302, ' /a '), '/a');
  assert.equal(readLocation(302, ''), null);
  assert.equal(readLocation(302, undefined), null);
});

test('response headers: only redirect statuses have a location', () => {
  for (const status of [300, 301, 302, 303, 307, 308]) {
    assert.equal(readLocation(status, '/a'), '/a');
  }
  for (const status of [200, 201, 304, 305, 404]) {
    assert.equal(readLocation(status, '/a'), null);
  }
});

test('failure code: each error has its code, whether got wraps it or not', () => {
  const error = (code: string, syscall?: string) =>
    Object.assign(new Error(code), { code, ...(syscall === undefined ? {} : { syscall }) });
  const wrapped = (inner: Error & { code?: string }) =>
    Object.assign(new Error(inner.message, { cause: inner }), { code: inner.code });
  const read = error('ECONNRESET', 'read');
  assert.equal(failureCode(wrapped(new DialError('tls', 'bad')), 'request'), 'tls');
  assert.equal(failureCode(new DialError('dns', 'none'), 'request'), 'dns');
  assert.equal(failureCode(wrapped(error('HPE_HEADER_OVERFLOW')), 'request'), 'headers_too_large');
  assert.equal(failureCode(wrapped(error('HPE_INVALID_CONSTANT')), 'body'), 'http_syntax');
  assert.equal(failureCode(wrapped(error('ECONNRESET')), 'request'), 'reset');
  assert.equal(failureCode(wrapped(error('ECONNRESET')), 'body'), 'truncated_body');
  assert.equal(failureCode(wrapped(read), 'body'), 'reset');
  assert.equal(failureCode(error('ERR_SSL_BAD'), 'request'), 'tls');
  assert.equal(failureCode(new Error('what'), 'request'), 'unexpected');
});
