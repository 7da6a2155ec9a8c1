// The real command crawls a site with TLS and a private certificate authority. The pages are the
// same with HTTP/2 and with HTTP/1.1.

import { test } from 'node:test';
import { assertCrawledWhole } from './tls-stage.ts';

test('tls: crawls a whole site over HTTP/2, one request at a time', (t) =>
  assertCrawledWhole(t, '2.0', true));
