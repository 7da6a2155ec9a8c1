// Serves the files of a plain web on all its addresses during one crawl, and reports the requests
// afterwards. It uses nginx if installed, because nginx takes almost nothing of the machine from
// the crawler, else a process of this benchmark. Each crawl has its own server, so that none
// inherits connections or a log.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { killAtExit } from './leftovers.ts';

export interface Served {
  /** Address and path of everything that was answered with 200. */
  readonly places: ReadonlySet<string>;
  /** All requests, whatever the answer. */
  readonly requests: number;
  /** From the first request to the end of the last response. */
  readonly seconds: number;
}

export interface RunningServer {
  /** Ends the server, which completes its log. */
  stop(): Promise<Served>;
}

export type ServerKind = 'nginx' | 'node';

const program = path.join(import.meta.dirname, 'plain-server-process.ts');
/** nginx listens within milliseconds, the other server after it has read all files. */
const listenMsMax = 30_000;

export function serverHere(): ServerKind {
  return spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status === 0 ? 'nginx' : 'node';
}

/**
 * Serves `root/ADDRESS/PATH` at every loopback address.
 *
 * @param scratch - an empty directory for the server's own files
 * @throws if it does not start to listen
 */
export async function startServer(
  kind: ServerKind,
  root: string,
  port: number,
  scratch: string,
): Promise<RunningServer> {
  const log = path.join(scratch, 'access.log');
  const child = kind === 'nginx' ? startNginx(root, port, log) : startNode(root, port, log);
  killAtExit(child);
  const gone = once(child, 'close');
  const end = performance.now() + listenMsMax;
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() > end) {
      child.kill('SIGKILL');
      throw new Error(`${kind} does not listen on port ${port}; see ${scratch}`);
    }
    await pause(20);
  }
  return {
    stop: async () => {
      child.kill(kind === 'nginx' ? 'SIGQUIT' : 'SIGTERM');
      await gone;
      return readLog(fs.readFileSync(log, 'utf8'));
    },
  };
}

function startNginx(root: string, port: number, log: string): ChildProcess {
  const scratch = path.dirname(log);
  const file = path.join(scratch, 'nginx.conf');
  fs.writeFileSync(file, nginxConfig(root, port, log));
  const line = ['-p', scratch, '-c', file, '-e', path.join(scratch, 'error.log')];
  return spawn('nginx', line, { stdio: 'ignore' });
}

function startNode(root: string, port: number, log: string): ChildProcess {
  return spawn(process.execPath, [program, root, String(port), log], { stdio: 'ignore' });
}

/** One process, the log buffered in memory, and a cache of open files. */
function nginxConfig(root: string, port: number, log: string): string {
  const scratch = path.dirname(log);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${scratch}/${name};`)
    .join(' ');
  return `daemon off; master_process off; pid ${scratch}/pid; worker_rlimit_nofile 16384;
events { worker_connections 8192; }
http {
  ${temporary}
  types { text/html html; text/plain txt; }
  log_format served '$msec $request_time $status $server_addr $request_uri';
  access_log ${log} served buffer=1m;
  sendfile on; tcp_nopush on; keepalive_timeout 60s; keepalive_requests 1000000;
  open_file_cache max=12000 inactive=10m; open_file_cache_valid 10m;
  server { listen 0.0.0.0:${port} backlog=4096; root ${root}/$server_addr; index index.html; }
}
`;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Lines of `END-SECONDS DURATION-SECONDS STATUS ADDRESS PATH`, as both servers write them. */
export function readLog(text: string): Served {
  const places = new Set<string>();
  let requests = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = 0;
  for (const line of text.split('\n')) {
    const [end, took, status, address, target] = line.split(' ');
    if (target === undefined) continue;
    requests++;
    first = Math.min(first, Number(end) - Number(took));
    last = Math.max(last, Number(end));
    if (status === '200') places.add(`${address}${target}`);
  }
  return { places, requests, seconds: requests === 0 ? 0 : last - first };
}
