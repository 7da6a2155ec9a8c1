// The config section `http`: how requests are made, their deadlines, and which responses are read.

import { z } from 'zod';
import { duration, userAgent } from './leaves.ts';

/** Each response is compared with each entry. */
const contentTypesMax = 100;

const contentType = z
  .string()
  .max(200)
  .regex(/^(?:\*\/\*|[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+))$/, {
    error: 'is not a content type; write one such as text/html or text/*',
  });

const proxyUrl = z
  .string()
  .max(2000)
  .refine((text) => isProxy(text), {
    error: 'is not an HTTP proxy; write http://HOST:PORT, without a path',
  });

function isProxy(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && url.pathname === '/' && url.search === '' && url.hash === '';
}

export const http = z
  .strictObject({
    userAgent: userAgent.prefault('ubiring').meta({
      description: 'robots.txt rules refer to its first word. Include a contact.',
      example: 'my-crawl (+https://example.org/bot; bot@example.org)',
    }),
    allowPrivateAddresses: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether loopback and private networks may be reached. If true, any link can make the ' +
          'crawler read servers there.',
      }),
    client: z.enum(['got', 'node']).prefault('got').meta({
      description:
        "HTTP/1.1 client: got, or node (Node's own), which needs a fifth less CPU time per page.",
    }),
    timeouts: z
      .strictObject({
        connectMs: duration(1).prefault(5000).meta({
          description: 'Limit for connecting, including TLS.',
          example: '5s',
        }),
        responseMs: duration(1).prefault(10_000).meta({
          description: 'Limit from the request to the end of the response header.',
          example: '10s',
        }),
        totalMs: duration(1).prefault(30_000).meta({
          description:
            'Limit for the whole request. Higher: dead and slow servers hold sockets longer.',
          example: '30s',
        }),
      })
      .prefault({})
      .meta({
        description:
          'When a request is aborted. Higher: dead and slow servers hold sockets longer.',
      }),
    contentTypes: z
      .array(contentType)
      .max(contentTypesMax)
      .nullable()
      .prefault(null)
      .meta({
        description:
          'Content types whose body is read; null: all. Other responses get the note `type`.',
        example: ['text/*', 'application/xhtml+xml'],
      }),
    http2: z.boolean().prefault(true).meta({
      description: 'Whether HTTP/2 is offered to https servers.',
    }),
    tls: z
      .strictObject({
        verify: z.boolean().prefault(true).meta({
          description: 'Whether certificates are checked.',
        }),
        ca: z.string().min(1).max(4096).nullable().prefault(null).meta({
          description: 'PEM file of certificate authorities, in addition to those of Node.',
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
          'http://[USER:PASSWORD@]HOST:PORT. The proxy resolves names and decides which ' +
          'addresses are allowed. Hosts that are addresses need allowPrivateAddresses.',
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
          description: 'Minimum time for which a DNS answer is cached.',
          example: '1m',
        }),
        ttlMaxMs: duration(0).prefault(3_600_000).meta({
          description: 'Maximum for the same, unless ttlMinMs is longer.',
          example: '1h',
        }),
        negativeTtlMs: duration(0).prefault(60_000).meta({
          description: 'How long a name counts as non-existent.',
          example: '1m',
        }),
      })
      .prefault({})
      .meta({ description: 'How host names are resolved.' }),
  })
  .prefault({})
  .meta({ description: 'How requests are made.' });
