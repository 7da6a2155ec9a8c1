// The set-up shared by `archive.test.ts` and `slow/archive.test.ts`.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { Archive } from '../../../agent/archive/archive.ts';
import type { Capture } from '../../../agent/archive/record/capture.ts';

export const capture: Capture = {
  ...{ url: 'http://a.test/', ip: null, startedAt: 0, status: 200, contentType: null },
  ...{ requestHead: 'GET / HTTP/1.1\r\n\r\n', responseHead: 'HTTP/1.1 200 OK\r\n\r\n' },
  ...{ truncated: null, metadata: [] },
};

/** Opens an archive in its own directory; `failures` collects the messages of its failures. */
export function opened(t: Pick<TestContext, 'after'>, script?: URL) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-archive-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const failures: string[] = [];
  const archive = new Archive({
    ...{
      directory,
      agent: 'a1',
      fileBytes: 1024 ** 3,
      compression: { format: 'gzip', level: 1 } as const,
    },
    ...{ durable: false, about: [], known: null },
    onFailure: ({ message }) => failures.push(message),
    ...(script && { script }),
  });
  return { archive, failures };
}
