// The worker thread of `ParsePool`. It receives pages and returns as many parsed pages, in order
// and usually in one message. It first reports that it has loaded, so that loading does not count
// as parsing, and counts the pages it begins in memory shared with the pool. Any error ends the
// thread, and the pool replaces it.

import { parentPort, workerData } from 'node:worker_threads';
import { parseDocument } from './document.ts';
import { type PageInput, type ParsedPage, parsePage } from './page/page.ts';

/** Limit on the link characters of a message, because reading one blocks the main thread. */
const ANSWER_CHARS_MAX = 256 * 1024;

const port = parentPort;
if (port === null)
  throw new Error('agent/parse/parse-worker is a thread of ParsePool, not a program');
const begun = workerData as Int32Array;

function answer(pages: readonly ParsedPage[]): void {
  port!.postMessage(
    pages,
    pages.flatMap(({ listed }) => listed?.urls.buffer ?? []),
  );
}

// The pool sends no further message before it has the results of all these pages.
port.on('message', async (inputs: readonly PageInput[]) => {
  let pages: ParsedPage[] = [];
  let chars = 0;
  for (const [k, input] of inputs.entries()) {
    Atomics.store(begun, 0, k + 1);
    const page = input.sitemap ? await parseDocument(input) : parsePage(input);
    pages.push(page);
    for (const { identity } of page.links) chars += identity.length;
    chars += page.listed?.urls.length ?? 0;
    if (chars < ANSWER_CHARS_MAX && pages.length < inputs.length) continue;
    answer(pages);
    pages = [];
    chars = 0;
  }
  if (pages.length > 0) answer(pages);
});
port.postMessage('ready');
