// `ubiring replay`: serves the dashboard while no agent runs, to look at a crawl that has ended. It
// also works while agents run. Ends on Ctrl-C.

import { once } from 'node:events';
import { caller } from '../common/caller.ts';
import { type ExitCode, messageOf } from '../common/exit-code.ts';
import { type CommonFlags, loadResolved, nameOrLaunch } from '../common/load-config.ts';
import { print, say, version, warn } from '../common/output.ts';
import { foundAgents } from '../common/query-files.ts';
import { startHttp } from '../http/http-process.ts';

/** Any time will do. */
const STAY_MS = 60_000;

export async function replay(
  file: string,
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const { dataDir } = config.agent;
  if (foundAgents(dataDir).length === 0) {
    say(`nothing to show: no agent has a state in ${dataDir}; ${nameOrLaunch(config)}`);
    return 1;
  }
  const listen = { host: '127.0.0.1', port: 0 };
  const { env } = caller();
  const http = startHttp({ config, listen, env, version: version(), onError: warn });
  if (typeof http === 'string') {
    say(http);
    return 4;
  }
  // The server does not keep this process running.
  const staying = setInterval(() => {}, STAY_MS);
  let url: string;
  try {
    url = `${await http.url}#replay`;
  } catch (error) {
    clearInterval(staying);
    say(messageOf(error));
    return 1;
  }
  await print(flags.json ? `${JSON.stringify({ url })}\n` : `${url}\n`);
  say('shows the crawl until Ctrl-C');
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  clearInterval(staying);
  http.close();
  return 0;
}
