// A web server that misbehaves in every way that a crawler must survive: endless, false, slow and
// broken answers, each on its own host (a loopback address). The answers are raw bytes, since an
// HTTP library would not send them. Some hosts fail so that a crawler retries later.

import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createGzip } from 'node:zlib';

/** A request, and the socket to answer it with any bytes. */
interface Asked {
  readonly path: string;
  /** Number of earlier requests to the host, without robots.txt. */
  readonly earlier: number;
  readonly origin: string;
  readonly socket: net.Socket;
}

type Answer = (asked: Asked) => Promise<void> | void;

export interface StrangeServer {
  /** `http://ADDRESS:PORT` of a host. */
  origin(host: HostName): string;
  /** Requested paths of a host, in order. */
  asked(host: HostName): readonly string[];
  stop(): Promise<void>;
}

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
/** Pause between two bytes of a slow body. */
const dripMs = 100;
/** Number of links on the page of the host `links`. */
export const manyLinks = 10_000;
/** Second byte of the addresses; the web of no other test uses it. */
const addressNet = 43;

/**
 * Pages in many charsets: the declared charset, the bytes of the letter in the link, and the target
 * that must be requested, with the path in UTF-8 and the query in the charset of the page.
 */
export const charsets = [
  { name: 'utf-8', letter: [0xc3, 0xbc], asks: '/%C3%BC?q=%C3%BC' },
  { name: 'windows-1252', letter: [0xfc], asks: '/%C3%BC?q=%FC' },
  { name: 'koi8-r', letter: [0xc1], asks: '/%D0%B0?q=%C1' },
  { name: 'shift_jis', letter: [0x82, 0xa0], asks: '/%E3%81%82?q=%82%A0' },
  { name: 'gbk', letter: [0xb0, 0xa1], asks: '/%E5%95%8A?q=%B0%A1' },
  { name: 'euc-kr', letter: [0xb0, 0xa1], asks: '/%EA%B0%80?q=%B0%A1' },
] as const;

const answers = {
  good: ({ socket, path, origin }) => {
    const pages = Array.from({ length: 20 }, (_, k) => `${origin}/good/${k}`);
    return page(socket, path === '/' ? linksTo(pages) : 'good');
  },
  /** Announces and sends 1 GiB. */
  huge: async ({ socket }) => {
    head(socket, 200, [`content-length: ${1024 * mebibyte}`]);
    for (let sent = 0; sent < 1024 && !socket.destroyed; sent++) {
      await write(socket, Buffer.alloc(mebibyte, 'a huge page '));
    }
  },
  endless: async ({ socket }) => {
    head(socket, 200, ['transfer-encoding: chunked']);
    const chunk = Buffer.alloc(64 * kibibyte, 'a page without end ');
    while (!socket.destroyed) {
      await write(socket, `${chunk.length.toString(16)}\r\n`);
      await write(socket, chunk);
      await write(socket, '\r\n');
    }
  },
  /** A kilobyte on the wire for each mebibyte of page. */
  bomb: async ({ socket }) => {
    head(socket, 200, ['content-encoding: gzip']);
    const gzip = createGzip();
    gzip.pipe(socket).on('error', () => {});
    socket.once('close', () => gzip.destroy());
    gzip.on('error', () => {});
    for (let sent = 0; sent < 256 && !gzip.destroyed; sent++) {
      if (!gzip.write(Buffer.alloc(mebibyte))) await drained(gzip);
    }
    if (!gzip.destroyed) gzip.end();
  },
  links: ({ socket, path, origin }) => {
    const targets = Array.from({ length: manyLinks }, (_, k) => `${origin}/link/${k}`);
    return page(socket, path === '/' ? linksTo(targets) : 'a leaf');
  },
  charsets: ({ socket, path }) => {
    const asked = charsets.find(({ name }) => path === `/page/${name}`);
    if (!asked) return page(socket, linksTo(charsets.map(({ name }) => `/page/${name}`)));
    const { name, letter } = asked;
    const [before, middle] = [`<meta charset="${name}"><a href="/`, '?q='];
    const bytes = [Buffer.from(before), letter, Buffer.from(middle), letter, Buffer.from('">x')];
    return page(socket, Buffer.concat(bytes.map((part) => Buffer.from(part))));
  },
  loop: ({ socket, path }) => {
    const targets: Record<string, string> = { '/': '/a', '/a': '/b', '/b': '/a' };
    return redirect(socket, targets[path] ?? path);
  },
  /** Each redirect leads to a new URL. */
  chase: ({ socket, path }) => redirect(socket, `/${Number(path.slice(1)) + 1}`),
  /** Location is not a URL, or not one that a crawler may follow. */
  astray: ({ socket, path }) => {
    const targets: Record<string, string> = {
      '/1': 'file:///etc/passwd',
      '/2': 'http://[::bad/',
      '/3': 'javascript:alert(1)',
    };
    return path === '/'
      ? page(socket, linksTo(Object.keys(targets)))
      : redirect(socket, targets[path] ?? '');
  },
  busy: ({ socket, earlier }) => {
    if (earlier >= 3) return page(socket, '');
    head(socket, 503, ['retry-after: 1', 'content-length: 0']);
    socket.end();
  },
  /** The status is known after the first line; the body then arrives slowly. */
  dripping404: async ({ socket }) => {
    head(socket, 404, []);
    await drip(socket);
  },

  // The answers below are retried after 10, 60 and 300 s.
  drip: async ({ socket }) => {
    head(socket, 200, []);
    await drip(socket);
  },
  silent: () => {},
  closed: ({ socket }) => void socket.end(),
  reset: ({ socket }) => void socket.resetAndDestroy(),
  cut: ({ socket }) => {
    head(socket, 200, ['content-length: 1000']);
    socket.end('less than that');
  },
  noHttp: ({ socket }) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
  /** A line that is not a field and has a control character. */
  oddHeader: ({ socket }) => {
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nno colon\0\r\n\r\n<p>page');
  },
  twoLengths: ({ socket }) => {
    head(socket, 200, ['content-length: 3', 'content-length: 30']);
    socket.end('abc');
  },
  longHeader: ({ socket }) => {
    head(socket, 200, [`x-long: ${'x'.repeat(mebibyte)}`]);
    socket.end('page');
  },
  badGzip: ({ socket }) => {
    head(socket, 200, ['content-encoding: gzip']);
    socket.end(Buffer.from('1f8b0800000000000003ffffffffffffffffffffffffffff', 'hex'));
  },
  broken: ({ socket }) => {
    head(socket, 500, ['content-length: 0']);
    socket.end();
  },
} satisfies Record<string, Answer>;

export type HostName = keyof typeof answers;

/** Every host answers `/robots.txt` with 404. */
export async function startStrangeServer(): Promise<StrangeServer> {
  const names = Object.keys(answers) as HostName[];
  const servers: net.Server[] = [];
  const sockets = new Set<net.Socket>();
  const log = new Map<HostName, string[]>(names.map((name) => [name, []]));
  let port = 0;
  const origin = (name: HostName) => `http://${addressOf(name)}:${port}`;
  for (const name of names) {
    const server = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => sockets.delete(socket));
      void converse(socket, async (path) => {
        if (path === '/robots.txt') {
          head(socket, 404, ['content-length: 0']);
          return void socket.end();
        }
        const earlier = log.get(name)!.push(path) - 1;
        await (answers[name] as Answer)({ path, earlier, origin: origin(name), socket });
      });
    });
    server.listen(port, addressOf(name));
    await once(server, 'listening');
    port = (server.address() as net.AddressInfo).port;
    servers.push(server);
  }
  return {
    origin,
    asked: (name) => log.get(name)!,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
    },
  };
}

function addressOf(name: HostName): string {
  return `127.${addressNet}.0.${1 + Object.keys(answers).indexOf(name)}`;
}

/** Reads the head of the only request of a connection and answers it. */
async function converse(socket: net.Socket, answer: (path: string) => Promise<void>) {
  let read = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    read += (chunk as Buffer).toString('latin1');
    if (read.includes('\r\n\r\n')) break;
  }
  const path = /^[A-Z]+ (\S+) HTTP\/1\.1\r\n/.exec(read)?.[1];
  if (path === undefined || socket.destroyed) return;
  socket.resume();
  await answer(path).catch(() => socket.destroy());
}

function head(socket: net.Socket, status: number, lines: readonly string[]): void {
  const type = 'content-type: text/html';
  const all = [`HTTP/1.1 ${status} Something`, type, 'connection: close', ...lines];
  socket.write(`${all.join('\r\n')}\r\n\r\n`);
}

function page(socket: net.Socket, body: string | Buffer): void {
  head(socket, 200, [`content-length: ${Buffer.byteLength(body)}`]);
  socket.end(body);
}

function redirect(socket: net.Socket, location: string): void {
  head(socket, 302, [`location: ${location}`, 'content-length: 0']);
  socket.end();
}

export function linksTo(urls: readonly string[]): string {
  return urls.map((url) => `<a href="${url}">x</a>\n`).join('');
}

async function drip(socket: net.Socket): Promise<void> {
  while (!socket.destroyed) {
    await write(socket, '.');
    await pause(dripMs);
  }
}

async function write(socket: net.Socket, bytes: Buffer | string): Promise<void> {
  if (!socket.destroyed && !socket.write(bytes)) await drained(socket);
}

/** Resolves when the stream accepts more bytes or has ended. */
function drained(stream: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ['drain', 'close', 'error']) stream.off(event, done);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) stream.on(event, done);
  });
}
