// The set-up shared by `refresh.test.ts` and `slow/refresh.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { readWarc } from '../unit/archive/reading.ts';
import { run, Scratch } from './cli-process.ts';

export const HOSTS = [1, 2, 3, 4].map((n) => `127.44.0.${n}`);
export const MODIFIED = 'Sun, 01 Nov 2026 10:00:00 GMT';

export interface Asked {
  readonly url: string;
  readonly conditional: boolean;
  readonly status: number;
}

/**
 * On each host `/` links to the pages and to the next host. `/0` has an entity tag and `/1` a date.
 * `/2` has an entity tag, changes with `version` and then links to `/new`. `/3` has neither and
 * does not change.
 */
export async function website(context: TestContext, pages = 4) {
  const asked: Asked[] = [];
  /** Requests for the last page of the first host wait for `gate`. */
  const site = { asked, version: 1, port: 0, gate: Promise.resolve() };
  const links = Array.from({ length: pages }, (_, n) => `<a href="/${n}">${n}</a>`).join(' ');
  const bodyOf = (host: string, target: string) => {
    const at = HOSTS.indexOf(host);
    const next = HOSTS[at + 1];
    if (target === '/') {
      return `<h1>${host}</h1>${links} ${next ? `<a href="http://${next}:${site.port}/">` : ''}`;
    }
    const changes = target === '/2' ? ` ${site.version}` : '';
    const more = changes && site.version > 1 ? '<a href="/new">new</a>' : '';
    return `<p>${host}${target}${changes} ${more}`;
  };
  const server = http.createServer(async (request, response) => {
    const host = request.headers.host!.split(':')[0]!;
    const target = request.url!;
    const { 'if-none-match': match, 'if-modified-since': since } = request.headers;
    const etag = `"${target === '/2' ? site.version : 1}"`;
    const kind = target === '/' ? 0 : Number(target.slice(1)) % 4;
    const headers: Record<string, string> = { 'content-type': 'text/html' };
    if (kind === 0 || kind === 2) headers.etag = etag;
    if (kind === 1) headers['last-modified'] = MODIFIED;
    const same = kind === 1 ? since === MODIFIED : match !== undefined && match === headers.etag;
    const status = target === '/robots.txt' ? 404 : same ? 304 : 200;
    const conditional = match !== undefined || since !== undefined;
    if (status !== 404) asked.push({ url: host + target, conditional, status });
    if (host === HOSTS[0] && target === `/${pages - 1}`) await site.gate;
    response.writeHead(status, headers);
    response.end(status === 200 ? bodyOf(host, target) : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  site.port = (server.address() as AddressInfo).port;
  context.after(() => server.close());
  return site;
}

export async function stage(
  context: TestContext,
  agents: number,
  pages?: number,
  more: object = {},
) {
  const site = await website(context, pages);
  const scratch = new Scratch();
  context.after(() => scratch.clean());
  const seeds = [`http://${HOSTS[0]}:${site.port}/`];
  const config = await scratch.config(agents, { seeds, ...more });
  const select = async (sql: string) => {
    const { stdout, stderr } = await run('query', config, sql, '--json');
    assert.notEqual(stdout, '', stderr);
    return JSON.parse(stdout) as Record<string, unknown>[];
  };
  const audited = async () => {
    const { code, stdout } = await run('audit', config);
    assert.equal(code, 0, stdout);
  };
  return { site, scratch, config, select, audited };
}

/**
 * Counts the types and profiles of the page responses in all archives. Fails if a revisit refers to
 * a record that is not in the archive of the same agent.
 */
export async function archived(dataDir: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const agent of fs.readdirSync(dataDir)) {
    const warc = path.join(dataDir, agent, 'warc');
    if (!fs.existsSync(warc)) continue;
    const kept = new Set<string>();
    const revisits: string[] = [];
    for (const name of fs.readdirSync(warc).filter((file) => file.endsWith('.gz'))) {
      for (const { type, headers } of await readWarc(path.join(warc, name))) {
        const uri = headers['warc-target-uri'] ?? '';
        if (uri.endsWith('/robots.txt')) continue;
        const keyOf = (...names: string[]) =>
          [...names, 'payload-digest'].map((field) => headers[`warc-${field}`]).join(' ');
        if (type === 'response') kept.add(`${keyOf('target-uri', 'date')} ${name}`);
        else if (type !== 'revisit') continue;
        else {
          const to = keyOf('refers-to-target-uri', 'refers-to-date');
          revisits.push(`${to} ${headers['warc-refers-to-filename']}`);
        }
        const profile = headers['warc-profile']?.split('/').at(-1) ?? '';
        const what = `${type} ${profile}`.trim();
        counts[what] = (counts[what] ?? 0) + 1;
      }
    }
    for (const key of revisits) assert.ok(kept.has(key), `${agent}: no response ${key}`);
  }
  return counts;
}

export async function crawl(...args: string[]): Promise<string> {
  const { code, stderr } = await run('launch', ...args);
  assert.equal(code, 0, stderr);
  return stderr;
}
