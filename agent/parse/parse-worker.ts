// The thread behind `ParsePool`: pages in, as many parsed pages out, in order, as a rule in one
// message. It says first that it has loaded, so that starting is not counted as parsing, and notes at
// which page it is where the pool can see it. Whatever goes wrong here ends the thread, and the pool
// replaces it.

import { parentPort, workerData } from 'node:worker_threads';
import { parseDocument } from './document.ts';
import { type PageInput, type ParsedPage, parsePage } from './page/page.ts';

/** Answers with more in their links or lists go by themselves: reading one stops the main thread. */
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

// The pool sends no more before all of these are answered.
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
