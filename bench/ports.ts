// Ports for programs that tests and benchmarks start later, below the system's range for outgoing
// connections. Crawls make many connections, so a port of that range may be taken before its
// program starts or while it is stopped.

import net from 'node:net';

const portFirst = 11_000;
const portLast = 31_999;
const portBlock = 100;
const portBlocks = (portLast + 1 - portFirst) / portBlock;
/** Processes that run in parallel begin at different ports. */
let next = portFirst + (process.pid % portBlocks) * portBlock;

/** Distinct ports at which no program listens at any address. Throws if there are not enough. */
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
