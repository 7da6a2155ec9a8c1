// The config section `monitor`: the HTTP server of each agent, with the dashboard, the API and the
// metrics.

import { z } from 'zod';
import { parseListenAddress } from '../values/listen-address.ts';

const listenAddress = z.string().superRefine((text, context) => {
  if (parseListenAddress(text) !== null) return;
  const remedy = 'write HOST:PORT with an IP address, as in 127.0.0.1:9100 or [::1]:9100';
  context.addIssue({
    code: 'custom',
    message: 'is not an address to listen at',
    params: { remedy },
  });
});

export const monitor = z
  .strictObject({
    listen: listenAddress
      .nullable()
      .prefault(null)
      .meta({
        description:
          'Where each agent serves the dashboard, API and metrics. Port 0: any free port. If a ' +
          'port is in use, an agent tries the next 63. null: only `launch` serves them, on a ' +
          'free port of 127.0.0.1.',
        example: '127.0.0.1:9100',
      }),
    tokens: z
      .string()
      .min(1)
      .max(4096)
      .nullable()
      .prefault(null)
      .meta({
        description:
          'File with one `ROLE TOKEN` per line (docs/DASHBOARD.md). Required unless `listen` is ' +
          'a loopback address.',
        example: 'tokens.txt',
      }),
  })
  .prefault({})
  .meta({ description: 'The HTTP server.' });
