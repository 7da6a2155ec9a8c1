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
      description: 'The User-Agent header. robots.txt files address its first word. Add a contact.',
      example: 'my-crawl (+https://example.org/bot; bot@example.org)',
    }),
    allowPrivateAddresses: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether loopback and private networks may be visited. If true, any link can make the ' +
          'crawler read servers in your network.',
      }),
    client: z
      .enum(['got', 'node'])
      .prefault('got')
      .meta({
        description:
          "HTTP/1.1 client: got, or node (Node's own), which takes a third of the processor time " +
          'per request.',
      }),
    timeouts: z
      .strictObject({
        connectMs: duration(1).prefault(5000).meta({
          description: 'Until the connection, with TLS, is open.',
          example: '5s',
        }),
        responseMs: duration(1).prefault(10_000).meta({
          description: 'From the request to the first byte.',
          example: '10s',
        }),
        totalMs: duration(1).prefault(30_000).meta({
          description: 'For the request and its body.',
          example: '30s',
        }),
      })
      .prefault({})
      .meta({
        description:
          'When a request is aborted. Higher: dead and slow servers occupy threads longer.',
      }),
    contentTypes: z
      .array(contentType)
      .max(contentTypesMax)
      .nullable()
      .prefault(null)
      .meta({
        description:
          'Types of responses whose body is read; null: all. Others are recorded with the note ' +
          '`type`.',
        example: ['text/*', 'application/xhtml+xml'],
      }),
    http2: z.boolean().prefault(true).meta({
      description: 'Whether HTTP/2 is offered to https servers.',
    }),
    tls: z
      .strictObject({
        verify: z.boolean().prefault(true).meta({
          description:
            'Whether certificates are checked. If false, pages can be replaced in transit.',
        }),
        ca: z.string().min(1).max(4096).nullable().prefault(null).meta({
          description: 'PEM file of authorities to trust besides those of Node.',
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
          'HTTP proxy: http://[USER:PASSWORD@]HOST:PORT. It resolves names and decides which ' +
          'addresses are allowed; hosts that are addresses need allowPrivateAddresses.',
        example: 'http://proxy.example.org:3128',
      }),
    cookies: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether cookies are kept in memory and sent to the host that set them. Pages may then ' +
          'depend on the order of visits.',
      }),
    dns: z
      .strictObject({
        family: z.enum(['any', 'ipv4', 'ipv6']).prefault('any').meta({
          description: 'Address family: any, ipv4 or ipv6.',
        }),
        ttlMinMs: duration(0).prefault(60_000).meta({
          description: 'Minimum time to use an answer.',
          example: '1m',
        }),
        ttlMaxMs: duration(0).prefault(3_600_000).meta({
          description: 'Maximum time to use an answer, unless ttlMinMs is longer.',
          example: '1h',
        }),
        negativeTtlMs: duration(0).prefault(60_000).meta({
          description: 'How long a name counts as non-existent.',
          example: '1m',
        }),
      })
      .prefault({})
      .meta({ description: 'How names are resolved.' }),
  })
  .prefault({})
  .meta({ description: 'How requests are made.' });
