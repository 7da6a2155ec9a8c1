// Ports for what is started later, by tests and benchmarks: below the range from which the system
// takes those of outgoing connections. One from that range may be gone before its program starts,
// or while it is stopped, for crawls make many connections.

import net from 'node:net';

const portFirst = 11_000;
const portLast = 31_999;
const portBlock = 100;
const portBlocks = (portLast + 1 - portFirst) / portBlock;
/** Processes that run beside one another begin at different places. */
let next = portFirst + (process.pid % portBlocks) * portBlock;

/** Ports at which nobody listens, at any address; all different. Throws where there are not so many. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count && tries < portLast - portFirst; tries++) {
    const port = next;
    next = next < portLast ? next + 1 : portFirst;
    if (await isFree(port)) ports.push(port);
  }
  if (ports.length < count) throw new Error('not enough free ports');
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)));
  });
}
