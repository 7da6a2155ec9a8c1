// The config's sections about URLs and links: which parameters a URL's identity leaves out, and what
// counts as a link. `schema.ts` puts them into the whole.

import { z } from 'zod';

/** Each is looked up for every parameter of every link. */
const parametersMax = 1000;

const parameterName = z
  .string()
  .max(100)
  .regex(/^[^\s&=;#?/*]+\*?$/, {
    error: 'is not the name of a parameter; write one such as ref, or a prefix such as utm_*',
  });

export const urls = z
  .strictObject({
    dropParameters: z
      .array(parameterName)
      .max(parametersMax)
      .prefault([])
      .meta({
        description:
          'Parameters, in the query or as ;name=value in the path, that do not distinguish ' +
          'pages; `ref*` is a prefix, case is ignored. Requests keep them. A wrong name makes ' +
          'the crawl miss pages.',
        example: ['ref', 'print'],
      }),
    dropTracking: z.boolean().prefault(false).meta({
      description: 'The same for `utm_*`, gclid, fbclid, msclkid and other tracking parameters.',
    }),
    dropSessions: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'The same for session parameters (jsessionid, PHPSESSID, CFID, a long sid and others) ' +
          'and ASP.NET path segments. Otherwise a site may be crawled once per session.',
      }),
  })
  .prefault({})
  .meta({
    description:
      'Which URLs are the same page. Change it only for a new crawl: stored rows keep their ' +
      'identity.',
  });

export const links = z
  .strictObject({
    embeds: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether images, scripts, styles and media count as links. Pages then cost about ' +
          'twenty requests.',
      }),
  })
  .prefault({})
  .meta({ description: 'What counts as a link.' });
