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
          'Parameters, in the query or as ;name=value in the path, that do not count for which ' +
          'page a URL is; "ref*" is a prefix, case does not matter. Requests keep them. A name ' +
          'that does choose a page makes the crawl miss pages.',
        example: ['ref', 'print'],
      }),
    dropTracking: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'The same for a list of well-known parameters that tell where a click came from: ' +
          'utm_*, gclid, fbclid, msclkid and the like.',
      }),
    dropSessions: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'The same for parameters that carry a session: jsessionid, PHPSESSID, CFID, a long sid ' +
          'and the like, and the path segments of ASP.NET. Without it a site that puts sessions ' +
          'into its links is crawled once a session, up to pagesPerHost.',
      }),
  })
  .prefault({})
  .meta({
    description:
      'Which URLs are the same page. Change it for a new crawl only: rows keep the identity under ' +
      'which they were found.',
  });

export const links = z
  .strictObject({
    embeds: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether images, scripts, styles and media count as links, as a complete archive needs. ' +
          'Turned on, a page costs some twenty requests instead of one, within scope.',
      }),
  })
  .prefault({})
  .meta({ description: 'What counts as a link.' });
