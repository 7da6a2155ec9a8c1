// Preloaded into an HTTP server (`node --import`). Each of its responses says how long a turn of its
// event loop has taken at most since the first response, which loads code. The client cannot measure
// this: its requests also wait for a processor.

import { subscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const loop = monitorEventLoopDelay({ resolution: 1 });
let hasServed = false;

subscribe('http.server.response.created', (message) => {
  const { response } = message as { readonly response: ServerResponse };
  response.setHeader('longest-turn-ms', String(loop.max / 1e6));
});
subscribe('http.server.response.finish', () => {
  if (!hasServed) loop.enable();
  hasServed = true;
});
