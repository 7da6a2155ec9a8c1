// The set-up shared by `contacts.test.ts`, `walk.test.ts` and `slow/contacts.test.ts`: agents that know only a
// contact. A delay between the requests to the only host keeps the crawl from its end.

import { freePorts } from '../../bench/ports.ts';
import { startWeb } from '../web/server.ts';
import { Scratch, start } from './cli-process.ts';

const cluster = { overlay: 'kademlia', agents: undefined };

/** The context of a test, or the functions that a group of tests calls at its end. */
interface Cleanups {
  after(what: () => unknown): void;
}

/**
 * A config whose only contact is the first of the endpoints, for agents that are named by letters.
 * @param its - other keys of `cluster`
 */
export async function stageOf(t: Cleanups, agents: string, net: number, its: object = {}) {
  const web = await startWeb({ hosts: 1, pages: 9, port: 0, answerMs: 1, net });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const ports = await freePorts(agents.length);
  const endpoints = ports.map((port) => `tcp://127.0.0.1:${port}`);
  const more = { seeds: [web.seed], politeness: { hostDelayMs: 3_600_000 } };
  const contacts = endpoints.slice(0, 1);
  const config = await scratch.config(0, more, { ...cluster, contacts, ...its });
  const at = (id: string) => endpoints[agents.indexOf(id)]!;
  const begin = (id: string, file = config, ...more: string[]) =>
    start(['agent', file, '--id', id, '--listen', at(id), ...more]);
  const kill = (id: string) => process.kill(scratch.pid(id)!, 'SIGKILL');
  return { web, scratch, config, at, begin, kill };
}
