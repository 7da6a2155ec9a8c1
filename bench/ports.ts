// Ports for programs that tests and benchmarks start later, below the system's range for outgoing
// connections. Crawls make many connections, so a port of that range may be taken before its
// program starts or while it is stopped.
//
// A port is not in use until its program starts, so another process could choose it too. Each
// process therefore takes its ports from blocks of its own: it listens at the first port of a block
// until it ends.

import net from 'node:net';

const portFirst = 11_000;
const portLast = 31_999;
const blockPorts = 100;
const blocks = (portLast + 1 - portFirst) / blockPorts;
/** Processes that run in parallel look for a block from different ones on. */
let nextBlock = process.pid % blocks;
/** The ports of the blocks of this process that it has not given out, in the order of their use. */
const rest: number[] = [];

/** Distinct ports at which no program listens at any address. Throws if there are not enough. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = rest.shift();
    if (port === undefined) await claimBlock();
    else if (await isFree(port)) ports.push(port);
  }
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

async function claimBlock(): Promise<void> {
  for (let tries = 0; tries < blocks; tries++) {
    const first = portFirst + nextBlock * blockPorts;
    nextBlock = (nextBlock + 1) % blocks;
    const server = await listening(first);
    if (!server) continue;
    server.unref();
    for (let port = first + 1; port < first + blockPorts; port++) rest.push(port);
    return;
  }
  throw new Error('not enough free ports');
}

async function isFree(port: number): Promise<boolean> {
  const server = await listening(port);
  if (!server) return false;
  return new Promise((resolve) => server.close(() => resolve(true)));
}

function listening(port: number): Promise<net.Server | null> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '0.0.0.0', () => resolve(server));
  });
}
