// The config sections `urls` and `links`: which parameters are not part of a URL's identity, and
// what counts as a link.

import { z } from 'zod';

/** Maximum, because every name is compared with every parameter of every link. */
const parametersMax = 1000;

const parameterName = z
  .string()
  .max(100)
  .regex(/^[^\s&=;#?/*]+\*?$/, {
    error: 'is not a parameter name; write one such as ref, or a prefix such as utm_*',
  });

export const urls = z
  .strictObject({
    dropParameters: z
      .array(parameterName)
      .max(parametersMax)
      .prefault([])
      .meta({
        description:
          'Parameters that do not distinguish pages; `ref*` is a prefix. A request has the form ' +
          'found first; if robots.txt forbids it, the URL is skipped. A wrong name makes the crawl ' +
          'miss pages.',
        example: ['ref', 'print'],
      }),
    dropTracking: z.boolean().prefault(false).meta({
      description: 'Also drops `utm_*`, gclid, fbclid and similar ones.',
    }),
    dropSessions: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Also drops jsessionid, PHPSESSID and similar ones. If false, a site may be crawled ' +
          'once per session.',
      }),
  })
  .prefault({})
  .meta({
    description: 'Which URLs are the same page. A crawl keeps them.',
  });

export const links = z
  .strictObject({
    embeds: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether images, scripts, styles and media count as links. If true, a page costs about ' +
          'twenty requests.',
      }),
  })
  .prefault({})
  .meta({ description: 'What counts as a link.' });
