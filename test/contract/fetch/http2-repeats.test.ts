// HTTP/2 connections that fail: which requests are repeated at once, and that later requests do not
// use the failed connection.

import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { test } from 'node:test';
import { asFailure, asResponse, forEachClient, request } from './harness.ts';
import { type Answer, PAGE, play } from './http2-server.ts';

const {
  NGHTTP2_ENHANCE_YOUR_CALM: CALM,
  NGHTTP2_HTTP_1_1_REQUIRED: HTTP1,
  NGHTTP2_NO_ERROR: NO_ERROR,
  NGHTTP2_REFUSED_STREAM: REFUSED,
} = http2.constants;

/** Answers each stream with a page, except the streams with the given numbers, counted from 1. */
function except(odd: Readonly<Record<number, Answer>>): Answer {
  let streams = 0;
  return (stream, path) => (odd[++streams] ?? PAGE)(stream, path);
}

/** A GOAWAY whose last stream is this one if it is processed, or else the one before it. */
function goAway(code: number, isProcessed: boolean): Answer {
  return (stream) => stream.session!.goaway(code, stream.id! - (isProcessed ? 0 : 2));
}

forEachClient(() => {
  const fatal: Record<string, { readonly answer: Answer; readonly code: string }> = {
    'does not answer': { answer: () => {}, code: 'response_timeout' },
    'stops within a body': {
      answer: (stream) => {
        stream.respond({ ':status': 200 });
        stream.write('begun');
      },
      code: 'total_timeout',
    },
    'resets a stream with ENHANCE_YOUR_CALM': {
      answer: (stream) => stream.close(CALM),
      code: 'reset',
    },
    'goes away with ENHANCE_YOUR_CALM': { answer: goAway(CALM, true), code: 'reset' },
    'goes away with ENHANCE_YOUR_CALM before the stream': {
      answer: goAway(CALM, false),
      code: 'reset',
    },
  };
  for (const [claim, { answer, code }] of Object.entries(fatal)) {
    test(`http2: abandons a connection that ${claim} and opens a new one for the next request`, () =>
      play(except({ 2: answer }), async ({ fetcher, url, connections }) => {
        asResponse(await fetcher.fetch(request(url)));
        assert.equal(asFailure(await fetcher.fetch(request(`${url}odd`))).code, code);
        assert.equal(connections(), 1);
        asResponse(await fetcher.fetch(request(`${url}next`)));
        assert.equal(connections(), 2);
      }));
  }

  test('http2: repeats a refused stream at once on the same connection', () =>
    play(
      except({ 1: (stream) => stream.close(REFUSED) }),
      async ({ fetcher, url, paths, connections }) => {
        asResponse(await fetcher.fetch(request(url)));
        assert.deepEqual([paths, connections()], [['/', '/'], 1]);
      },
    ));

  test('http2: reports a failure if a repeated stream is refused again', () =>
    play(
      (stream) => stream.close(REFUSED),
      async ({ fetcher, url, paths }) => {
        assert.equal(asFailure(await fetcher.fetch(request(url))).code, 'reset');
        assert.deepEqual(paths, ['/', '/']);
      },
    ));

  test('http2: repeats one request of a host at once in ten minutes', () => {
    let now = 1e12;
    const seen = new Set<string>();
    const refuseFirst: Answer = (stream, path) => {
      if (seen.has(path)) return PAGE(stream, path);
      seen.add(path);
      stream.close(REFUSED);
    };
    return play(
      refuseFirst,
      async ({ fetcher, url, paths }) => {
        asResponse(await fetcher.fetch(request(`${url}1`)));
        assert.equal(asFailure(await fetcher.fetch(request(`${url}2`))).code, 'reset');
        asResponse(await fetcher.fetch(request(`${url}2`)));
        now += 600_000;
        asResponse(await fetcher.fetch(request(`${url}3`)));
        assert.deepEqual(paths, ['/1', '/1', '/2', '/2', '/3', '/3']);
      },
      { now: () => now },
    );
  });

  test('http2: uses connections once if a host allows one request per connection', () => {
    const used = new Set<unknown>();
    const allowOne: Answer = (stream, path) => {
      if (used.has(stream.session)) return goAway(NO_ERROR, false)(stream, path);
      used.add(stream.session);
      PAGE(stream, path);
    };
    return play(allowOne, async ({ fetcher, url, paths, connections }) => {
      for (const path of ['1', '2', '3', '4']) {
        asResponse(await fetcher.fetch(request(`${url}${path}`)));
      }
      assert.deepEqual([paths, connections()], [['/1', '/2', '/2', '/3', '/4'], 4]);
    });
  });

  test('http2: repeats a stream above the last one of a GOAWAY at once', () =>
    play(except({ 2: goAway(NO_ERROR, false) }), async ({ fetcher, url, paths, connections }) => {
      asResponse(await fetcher.fetch(request(url)));
      asResponse(await fetcher.fetch(request(`${url}above`)));
      assert.deepEqual([paths, connections()], [['/', '/above', '/above'], 2]);
    }));

  const refusals: Record<string, Answer> = {
    'a stream': (stream) => stream.close(HTTP1),
    'the connection': goAway(HTTP1, true),
  };
  for (const [what, answer] of Object.entries(refusals)) {
    test(`http2: changes to HTTP/1.1 if ${what} ends with HTTP_1_1_REQUIRED`, () =>
      play(except({ 1: answer }), async ({ fetcher, url, spoken }) => {
        const page = asResponse(await fetcher.fetch(request(url)));
        assert.equal(Buffer.from(page.body).toString(), 'old');
        asResponse(await fetcher.fetch(request(`${url}next`)));
        assert.deepEqual(spoken, ['2.0', '1.1', '1.1']);
      }));
  }

  test('http2: uses HTTP/1.1 for an hour if a host requires it', () => {
    let now = 1e12;
    return play(
      except({ 1: (stream) => stream.close(HTTP1) }),
      async ({ fetcher, url, spoken }) => {
        asResponse(await fetcher.fetch(request(url)));
        now += 3_600_000;
        asResponse(await fetcher.fetch(request(url)));
        assert.deepEqual(spoken, ['2.0', '1.1', '2.0']);
      },
      { now: () => now },
    );
  });

  test('http2: repeats the request if a reused connection closes before the response', () =>
    play(
      except({ 2: (stream) => stream.session?.socket.destroy() }),
      async ({ fetcher, url, paths, connections }) => {
        asResponse(await fetcher.fetch(request(url)));
        asResponse(await fetcher.fetch(request(`${url}gone`)));
        assert.deepEqual([paths, connections()], [['/', '/gone', '/gone'], 2]);
        asResponse(await fetcher.fetch(request(`${url}next`)));
        assert.equal(connections(), 3, 'the connection of the repeat was not kept');
      },
    ));

  test('http2: reports a failure if a new connection closes before the response', () =>
    play(
      (stream) => stream.session?.socket.destroy(),
      async ({ fetcher, url, paths }) => {
        assert.equal(asFailure(await fetcher.fetch(request(url))).code, 'reset');
        assert.deepEqual(paths, ['/']);
      },
    ));

  test('http2: checks the fetch right again before a repeat', () =>
    play(except({ 1: (stream) => stream.close(REFUSED) }), async ({ fetcher, url, paths }) => {
      let asked = 0;
      const failure = asFailure(
        await fetcher.fetch(request(url, { mayWrite: () => ++asked === 1 })),
      );
      assert.deepEqual([failure.code, failure.wrote, asked], ['no_right', true, 2]);
      assert.deepEqual(paths, ['/']);
    }));
});
