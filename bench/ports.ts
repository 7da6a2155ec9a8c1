// Ports for what a benchmark starts itself: below the range from which connections take theirs, so
// that a server that is stopped and started again finds its own still free. Used by `rivals.ts` and
// its contenders.

import net from 'node:net';

/** Tests take theirs below it, the system's connections above 32,768. */
const portFirst = 24_000;
const portLast = 31_000;
let next = portFirst + (process.pid % 70) * 100;

/** Ports at which nobody listens, all different. Throws where there are not so many. */
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

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)));
  });
}
