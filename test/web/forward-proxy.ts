// An HTTP forward proxy, as a crawler behind a firewall uses: requests with an absolute target, and
// tunnels (CONNECT). It passes answers on unchanged, and closes or resets the client's connection
// when the server does, so that unusual servers stay unusual behind it.

import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { addressOfName } from './shared-names.ts';

export interface ForwardProxy {
  readonly url: string;
  stop(): void;
}

export async function startForwardProxy(): Promise<ForwardProxy> {
  const sockets = new Set<net.Socket>();
  const keep = (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = net.createServer((client) => {
    keep(client);
    serve(client, keep);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Upstream {
  readonly target: string;
  readonly socket: net.Socket;
}

function serve(client: net.Socket, keep: (socket: net.Socket) => void): void {
  let received = Buffer.alloc(0);
  let upstream: Upstream | null = null;
  const open = (host: string, port: number): Upstream => {
    const socket = net.connect(port, addressOfName(host) ?? host);
    keep(socket);
    return { target: `${host}:${port}`, socket };
  };
  const answerFrom = (from: Upstream): void => {
    from.socket
      .on('data', (bytes) => client.write(bytes))
      .on('error', () => client.resetAndDestroy())
      .on('close', () => {
        // A connection that was replaced for another target must not close the client's connection.
        if (upstream === from) client.end();
      });
  };
  const onData = (bytes: Buffer): void => {
    received = Buffer.concat([received, bytes]);
    const end = received.indexOf('\r\n\r\n');
    if (end === -1) return;
    const head = received.subarray(0, end + 4).toString('latin1');
    const rest = received.subarray(end + 4);
    received = Buffer.alloc(0);
    const [method = '', target = ''] = head.split(' ', 2);
    if (method === 'CONNECT') {
      client.off('data', onData);
      const { hostname, port } = new URL(`http://${target}`);
      upstream = open(hostname, Number(port));
      const { socket } = upstream;
      answerFrom(upstream);
      socket.once('connect', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.write(rest);
        client.on('data', (more) => socket.write(more));
      });
      return;
    }
    const url = new URL(target);
    const port = Number(url.port || 80);
    if (upstream?.target !== `${url.hostname}:${port}`) {
      const former = upstream;
      upstream = open(url.hostname, port);
      former?.socket.destroy();
      answerFrom(upstream);
    }
    upstream.socket.write(head.replace(target, `${url.pathname}${url.search}`), 'latin1');
    if (rest.length > 0) onData(rest);
  };
  client.on('data', onData).on('close', () => upstream?.socket.destroy());
}
