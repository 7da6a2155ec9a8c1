// The config's section about requests: who the crawler says it is, whom it connects to and by which
// way, when it gives up, and what it reads. `schema.ts` puts it into the whole.

import { z } from 'zod';
import { duration, userAgent } from './leaves.ts';

/** Each response is compared with each. */
const contentTypesMax = 100;

const contentType = z
  .string()
  .max(200)
  .regex(/^(?:\*\/\*|[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+))$/, {
    error: 'is no type; write one such as text/html, or text/* for all of a kind',
  });

const proxyUrl = z
  .string()
  .max(2000)
  .refine((text) => isProxy(text), {
    error: 'is no HTTP proxy; write http://HOST:PORT, without a path',
  });

function isProxy(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && url.pathname === '/' && url.search === '' && url.hash === '';
}

export const http = z
  .strictObject({
    userAgent: userAgent.prefault('ubiring').meta({
      description:
        'The User-Agent header. Its first word is the name that robots.txt files address; a ' +
        'contact (URL or mail address) lets an operator write to you instead of blocking you.',
      example: 'my-crawl (+https://example.org/bot; bot@example.org)',
    }),
    allowPrivateAddresses: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether loopback and private networks may be visited. If true, a link on any page can ' +
          'make the crawler read servers inside your network.',
      }),
    client: z
      .enum(['got', 'node'])
      .prefault('got')
      .meta({
        description:
          "What speaks HTTP/1.1: got, or Node's own client without a library in between, which " +
          'takes a third of the processor time for a request. Connections, address checks, ' +
          'time-outs, cookies, archives and HTTP/2 are the same with both.',
      }),
    timeouts: z
      .strictObject({
        connectMs: duration(1).prefault(5000).meta({
          description:
            'Until the connection (with TLS) stands. Turned up, dead hosts hold threads longer.',
          example: '5s',
        }),
        responseMs: duration(1)
          .prefault(10_000)
          .meta({
            description:
              'From the request to the first byte of the response. Turned up, silent servers hold ' +
              'threads longer.',
            example: '10s',
          }),
        totalMs: duration(1)
          .prefault(30_000)
          .meta({
            description:
              'For the whole request, body included. Turned up, dripping bodies hold threads ' +
              'longer; a body needs bodyBytes / totalMs to arrive whole.',
            example: '30s',
          }),
      })
      .prefault({})
      .meta({ description: 'When a request is given up.' }),
    contentTypes: z
      .array(contentType)
      .max(contentTypesMax)
      .nullable()
      .prefault(null)
      .meta({
        description:
          'Types of pages that are read, such as text/* or application/xhtml+xml; null is all. ' +
          'A response of another type is recorded with the note `type`, its body unread and its ' +
          'connection closed. One without a type is read.',
        example: ['text/*', 'application/xhtml+xml'],
      }),
    http2: z
      .boolean()
      .prefault(true)
      .meta({
        description:
          'Whether HTTP/2 is offered to https servers (by ALPN). A host still gets one request ' +
          'at a time.',
      }),
    tls: z
      .strictObject({
        verify: z
          .boolean()
          .prefault(true)
          .meta({
            description:
              'Whether a server must prove its name by a certificate. If false, whoever is on the ' +
              'way can put other pages in place of any.',
          }),
        ca: z
          .string()
          .min(1)
          .max(4096)
          .nullable()
          .prefault(null)
          .meta({
            description:
              'PEM file of authorities that are trusted besides those that Node brings; relative ' +
              'to the config file.',
            example: 'authority.pem',
          }),
      })
      .prefault({})
      .meta({ description: 'Certificates of https servers.' }),
    proxy: proxyUrl
      .nullable()
      .prefault(null)
      .meta({
        description:
          'HTTP proxy for all requests, http://[USER:PASSWORD@]HOST:PORT; https goes through a ' +
          'tunnel (CONNECT). The proxy resolves names, so which addresses they lead to is for ' +
          'the proxy to judge; hosts that are addresses are refused, unless ' +
          'allowPrivateAddresses. Variables of the environment are not read.',
        example: 'http://proxy.example.org:3128',
      }),
    cookies: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether cookies are kept and sent back, each to the very host that set it, in memory, ' +
          'at most 32 and 8 KiB a host. What a host shows may then depend on the order of visits.',
      }),
    dns: z
      .strictObject({
        family: z.enum(['any', 'ipv4', 'ipv6']).prefault('any').meta({
          description: 'Addresses that are asked for and connected to.',
        }),
        ttlMinMs: duration(0)
          .prefault(60_000)
          .meta({
            description:
              'An answer is used at least so long, whatever its own time. Turned up, fewer ' +
              'queries, and a host that moves is lost for longer.',
            example: '1m',
          }),
        ttlMaxMs: duration(0).prefault(3_600_000).meta({
          description: 'An answer is used at most so long; ttlMinMs wins where it is longer.',
          example: '1h',
        }),
        negativeTtlMs: duration(0)
          .prefault(60_000)
          .meta({
            description:
              'How long it is remembered that a name does not exist; that the DNS itself failed, ' +
              'for 5 s. Turned up, fewer queries, and a new name is found later.',
            example: '1m',
          }),
      })
      .prefault({})
      .meta({ description: 'How names become addresses.' }),
  })
  .prefault({})
  .meta({ description: 'How requests are made.' });
