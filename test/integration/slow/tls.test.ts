// A crawl over TLS by the real command: an authority of the user's own, HTTP/2 where the server
// chooses it and HTTP/1.1 where not, and the same pages either way.
// The slower of these tests; the others are in `test/integration/tls.test.ts`.

import { test } from 'node:test';
import { assertCrawledWhole } from '../tls-stage.ts';

test('tls: a site is crawled whole over HTTP/1.1, one request at a time', (t) =>
  assertCrawledWhole(t, '1.1', false));
