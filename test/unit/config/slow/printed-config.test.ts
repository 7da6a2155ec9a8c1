// The slower of the tests in `test/unit/config/printed-config.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import type { Config } from '../../../../config/config.ts';
import { printConfig } from '../../../../config/printed-config.ts';
import { good } from '../written-config.ts';

const linesOf = (text: string) => text.split('\n').slice(1);
const withoutFile = ({ file: _, ...rest }: Config) => rest;

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,9}$/);
const duration = fc.oneof(
  fc.integer({ min: 30, max: 100_000 }),
  fc.integer({ min: 1, max: 99 }).map((n) => `${n}s`),
  fc.integer({ min: 30, max: 999 }).map((n) => `${n}ms`),
);
const optional = { requiredKeys: [] as [] };
/** Any valid config, in which any keys may be missing. */
const anyConfig = fc.record(
  {
    seeds: fc.array(
      fc.tuple(word, fc.webPath()).map(([host, at]) => `http://${host}.example${at}`),
      { minLength: 1, maxLength: 4 },
    ),
    name: fc.string({ minLength: 1, maxLength: 30 }).filter((name) => !/\p{Cc}/u.test(name)),
    scope: fc.record(
      {
        hosts: fc.array(fc.constantFrom('*', '*.example', 'a.example', '10.0.0.1', '[::1]'), {
          minLength: 1,
          maxLength: 4,
        }),
        include: fc.array(fc.constantFrom('^https?:', '\\.html$', '[?&]a=', '# "x": y', "it's")),
        exclude: fc.array(fc.constantFrom('\\d{4}', '/a b/', 'null', '~', '- x')),
      },
      optional,
    ),
    urls: fc.record(
      {
        dropParameters: fc.array(fc.constantFrom('ref', 'utm_*', 'Größe', '"x"', "'", 'null')),
        dropTracking: fc.boolean(),
        dropSessions: fc.boolean(),
      },
      optional,
    ),
    links: fc.record({ embeds: fc.boolean() }, optional),
    limits: fc.record(
      {
        pagesPerHost: fc.integer({ min: 1, max: 1e9 }),
        depthPerHost: fc.integer({ min: 0, max: 100 }),
        pages: fc.option(fc.integer({ min: 1, max: 1e9 })),
        urlLength: fc.integer({ min: 16, max: 65_536 }),
        bodyBytes: fc.oneof(
          fc.integer({ min: 1, max: 1024 ** 3 }),
          fc.constantFrom('1MiB', '64KiB', '1.5MiB', '1GiB', '7B'),
        ),
      },
      optional,
    ),
    politeness: fc.record(
      {
        hostDelayMs: duration,
        ipDelayMs: duration,
        crawlDelayMaxMs: duration,
        robots: fc.boolean(),
      },
      optional,
    ),
    http: fc.record(
      {
        userAgent: fc.stringMatching(/^[A-Za-z][!-~]{0,40}$/),
        allowPrivateAddresses: fc.boolean(),
        client: fc.constantFrom('got', 'node'),
        timeouts: fc.record({ connectMs: duration, responseMs: duration }, optional),
      },
      optional,
    ),
    cluster: fc.record(
      {
        agents: fc.oneof(
          fc.integer({ min: 1, max: 9 }),
          fc
            .uniqueArray(
              fc.record(
                { id: word, capacity: fc.constantFrom(0.5, 1, 3) },
                { requiredKeys: ['id'] },
              ),
              { selector: (entry) => entry.id, minLength: 1, maxLength: 5 },
            )
            .map((entries) =>
              entries.map((entry, k) => ({ ...entry, listen: `tcp://127.0.0.1:${7101 + k}` })),
            ),
        ),
        kademlia: fc.record(
          { ids: fc.integer({ min: 1, max: 64 }), concurrency: fc.integer({ min: 1, max: 9 }) },
          optional,
        ),
        replicas: fc.integer({ min: 1, max: 50 }),
        backups: fc.integer({ min: 0, max: 3 }),
        quorum: fc.constantFrom('none', 'majority'),
        failureDetector: fc.record({
          heartbeatMs: fc.integer({ min: 10, max: 500 }),
          suspectAfterMs: fc.constantFrom(2500, '3s', '1m'),
        }),
      },
      optional,
    ),
    agent: fc.record(
      { threads: fc.integer({ min: 1, max: 4096 }), dataDir: word.map((name) => `../${name}`) },
      optional,
    ),
    storage: fc.record({ durability: fc.constantFrom('power', 'process') }, optional),
    archive: fc.record({ warc: fc.boolean(), links: fc.boolean() }, optional),
  },
  { requiredKeys: ['seeds'] },
);

test('print: the printed config loads as the same config from another directory', () => {
  fc.assert(
    fc.property(anyConfig, fc.boolean(), (values, json) => {
      const config = good(json ? JSON.stringify(values) : stringify(values));
      const printed = printConfig(config);
      assert.deepEqual(withoutFile(good(printed)), withoutFile(config));
      // The first line names the file.
      assert.deepEqual(linesOf(printConfig(good(printed))), linesOf(printed));
    }),
    { numRuns: 150 },
  );
});
