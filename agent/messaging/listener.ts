// Whether anything listens at an endpoint. A ZeroMQ socket does not report that a connection is
// refused, so a question to an agent that does not run costs the whole time limit of its answer.

import net from 'node:net';
import { parseEndpoint } from '../../config/values/agent-endpoint.ts';

/** Milliseconds: a machine that is reachable accepts or refuses a connection at once. */
const connectMsMax = 1000;

export function isListening(address: string): Promise<boolean> {
  const endpoint = parseEndpoint(address);
  if (endpoint === null) return Promise.resolve(false);
  const host = endpoint.host.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = net.connect({ host, port: endpoint.port, timeout: connectMsMax });
    const end = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}
