// The set-up shared by `scope.test.ts` and `slow/scope.test.ts`.

import type { TestContext } from 'node:test';
import { Scratch } from './cli-process.ts';
import { HostServers } from './host-servers.ts';

export async function site(t: TestContext, net: number, links: readonly string[]) {
  const web = new HostServers<'site'>(net, ['site'], ({ path }, response) => {
    if (path === '/robots.txt') return response.writeHead(404).end();
    const body = path === '/' ? links.map((link) => `<a href="${link}">x</a>`).join('') : path;
    response.writeHead(200, { 'content-type': 'text/html' }).end(body);
  });
  await web.start();
  const scratch = new Scratch();
  t.after(() => {
    scratch.clean();
    web.stop();
  });
  const config = (exclude: readonly string[]) =>
    scratch.config(1, {
      seeds: [`${web.origin('site')}/`],
      scope: { hosts: ['*'], exclude },
      politeness: { hostDelayMs: 30 },
    });
  return { web, config };
}
