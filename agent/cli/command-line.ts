// The command line `ubiring`: what commands there are, what each takes, and what each ends with.
// Each command's code is loaded when it is called for, so that a look at the ring does not wait for
// a crawler to load. Commands return their exit code; usage errors end with 2.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { wallMs } from '../runtime/clock.ts';
import { checkExamples, type Subject, subjects } from './check/check-subjects.ts';
import { type Caller, calledBy, caller } from './common/caller.ts';
import { codeOfError, type ExitCode, Refusal } from './common/exit-code.ts';
import { failureJson, print, say } from './common/output.ts';
import { agentsQuery, failuresQuery, statusesQuery } from './common/query-examples.ts';
import { type ExportFormat, exportFormats } from './query/export-formats.ts';
import { type Format, formats } from './query/query-format.ts';
import { wordsOf } from './query/query-words.ts';

/** Runs the command that the caller's words name. Of an error it says what it is, and never rejects. */
export function commandLine(who: Caller): Promise<ExitCode> {
  return calledBy(who, async () => {
    const words = wordsOf(who.argv);
    const code = await run(words);
    const failure = code !== 0 && words.includes('--json') ? failureJson(code) : null;
    if (failure !== null) await print(failure);
    return code;
  });
}

async function run(words: string[]): Promise<ExitCode> {
  try {
    // None runs for --help.
    let ended: ExitCode = 0;
    const root = program((command) => async (...args) => {
      ended = await command(...args);
    });
    await root.parseAsync(words);
    return ended;
  } catch (error) {
    // Help and version come as errors with code 0; everything else from commander is usage.
    if (error instanceof CommanderError) {
      if (error.exitCode !== 0) return 2;
      // Resolves once the help is written; where it cannot be, `main.ts` ends the process.
      await print('');
      return 0;
    }
    if (error instanceof Refusal) {
      say(error.message);
      return error.code;
    }
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return codeOfError(error);
  }
}

const dataOption = [
  '--data <dir>',
  'data directory, instead of agent.dataDir of the config',
  directoryFlag,
] as const;
const jsonOption = ['--json', 'JSON on stdout, also where the command fails'] as const;
const configArgument = ['<config>', 'path of the config file, YAML or JSON'] as const;

const examples = `
Examples:
  ubiring launch crawl.yaml                   crawl to the end, with live progress
  ubiring status crawl.yaml                   what each agent is doing
  ubiring query crawl.yaml "${statusesQuery}"
  ubiring kill crawl.yaml a2                  watch the others take over
  ubiring audit crawl.yaml                    whether every known URL is accounted for
  ubiring pause crawl.yaml                    no new requests, until resume
  ubiring explain crawl.yaml URL              what decides about a URL, and what became of it
  ubiring stop crawl.yaml                     stop all; launch again goes on from there
  ubiring config check crawl.yaml             every problem of a config, with its line

Exit codes: 0 finished, 1 unexpected, 2 usage, 3 disk full, 4 config or data directory,
5 port in use or cluster refused, 11 interrupted (launch again to go on)`;

/** Makes a command's action of the function that runs it; what that ends with is kept. */
type Ending = <Args extends unknown[]>(
  run: (...args: Args) => Promise<ExitCode>,
) => (...args: Args) => Promise<void>;

function program(ending: Ending): Command {
  const root = new Command('ubiring')
    .description('A crawler cluster of identical agents: no coordinator, no lost queue.')
    .version(version(), '-V, --version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void caller().stdout.write(text),
      writeErr: (text) => say(text.trimEnd()),
      getOutHelpWidth: () => caller().stdout.columns ?? 80,
    })
    .showHelpAfterError('(--help tells what there is)')
    .addHelpText('after', examples);
  addCrawlCommands(root, ending);
  addReadingCommands(root, ending);
  addAuditCommand(root, ending);
  addExplainCommand(root, ending);
  addExportCommand(root, ending);
  addOrderCommands(root, ending);
  addEndingCommands(root, ending);
  addConfigCommands(root, ending);
  addCheckCommand(root, ending);
  return root;
}

type LaunchFlags = {
  agents?: string;
  fresh?: boolean;
  deleteArchives?: boolean;
  refresh?: boolean;
  repair?: boolean;
  restart?: boolean;
};
type Flags<T = object> = { data?: string; json?: boolean } & T;

type AgentFlags = { id: string; refresh?: number | true; repair?: boolean };

const launchHelp = `
A launch that would leave out work of agents that it does not start (fewer, or
renamed) is refused (4). A complete crawl of which a state file is missing or
damaged starts all the same: it restores the file from the copies, and ends.

Examples:
  ubiring launch crawl.yaml --agents 2 --fresh
  ubiring launch crawl.yaml --repair`;

function addCrawlCommands(root: Command, ending: Ending): void {
  root
    .command('launch')
    .description("start the config's agents of this machine, each a process, to completion")
    .argument(...configArgument)
    .option('--agents <which>', 'the first N agents, or identifiers: a1,a2', agentsFlag)
    .option(
      '--fresh',
      'delete what the started agents know, and begin anew; archives are moved aside',
    )
    .option('--delete-archives', 'with --fresh: delete the WARC archives, too')
    .option('--refresh', 'of a complete crawl: ask for what has changed since')
    .option('--repair', 'read all state files whole; restore lost ones from the copies')
    .option('--restart', 'start an agent that dies again, after a wait that grows')
    .option(...dataOption)
    .addHelpText('after', launchHelp)
    .action(
      ending(async (file: string, flags: Flags<LaunchFlags>) => {
        const { launch } = await import('./launch/launch-command.ts');
        return launch(file, flags);
      }),
    );
  root
    .command('agent')
    .description('run one agent in the foreground')
    .argument(...configArgument)
    .requiredOption('--id <id>', 'which agent of the config')
    .option('--refresh [round]', 'as launch: a number above the last (Unix seconds)', roundFlag)
    .option('--repair', 'as launch: on each machine, where a state is to be restored')
    .option(...dataOption)
    .addHelpText('after', '\nExamples:\n  ubiring agent crawl.yaml --id a3 --data /srv/crawl')
    .action(
      ending(async (file: string, flags: Flags<AgentFlags>) => {
        const { agentCommand } = await import('./agent/agent-command.ts');
        const { refresh, ...rest } = flags;
        if (refresh === undefined) return agentCommand(file, rest);
        const round = refresh === true ? Math.floor(wallMs() / 1000) : refresh;
        return agentCommand(file, { ...rest, refresh: round });
      }),
    );
}

function addReadingCommands(root: Command, ending: Ending): void {
  root
    .command('status')
    .description('ask any living agent about all of them')
    .argument(...configArgument)
    .option(...jsonOption)
    .option(...dataOption)
    .action(
      ending(async (file: string, flags: Flags) => {
        const { status } = await import('./status/status-command.ts');
        return status(file, flags);
      }),
    );
  root
    .command('query')
    .description(
      'read-only SQL over pages, frontier, skipped, hosts, links, events and orders of all agents',
    )
    .argument(...configArgument)
    .argument('<sql>', 'one statement that reads')
    .addOption(new Option('--format <format>', 'json is one array').choices(formats))
    .option('--json', 'the same as --format json')
    .option(...dataOption)
    .addHelpText(
      'after',
      `\nExamples:\n  ubiring query crawl.yaml "${agentsQuery}"\n` +
        `  ubiring query crawl.yaml "${failuresQuery}" --format csv`,
    )
    .action(
      ending(async (file: string, sql: string, flags: Flags<{ format?: Format }>) => {
        const { query } = await import('./query/query-command.ts');
        return query(file, sql, flags);
      }),
    );
  root
    .command('owner')
    .description('the order in which agents answer for a host, one JSON line each')
    .argument(...configArgument)
    .argument('<host-or-url...>', 'hosts or URLs')
    .option('--json', 'JSON lines, which it prints anyway')
    .option(...dataOption)
    .action(
      ending(async (file: string, texts: string[], flags: Flags) => {
        const { owner } = await import('./commands/owner-command.ts');
        return owner(file, texts, flags);
      }),
    );
  root
    .command('ring')
    .description('how the hosts are divided between the agents')
    .argument(...configArgument)
    .option(...jsonOption)
    .option(...dataOption)
    .action(
      ending(async (file: string, flags: Flags) => {
        const { ring } = await import('./commands/ring-command.ts');
        return ring(file, flags);
      }),
    );
}

function addAuditCommand(root: Command, ending: Ending): void {
  root
    .command('audit')
    .description('known = done + queued + skipped + failed, over all agents; 1 where it is not so')
    .argument(...configArgument)
    .option(...jsonOption)
    .option(...dataOption)
    .action(
      ending(async (file: string, flags: Flags) => {
        const { audit } = await import('./audit/audit-command.ts');
        return audit(file, flags);
      }),
    );
}

function addExplainCommand(root: Command, ending: Ending): void {
  root
    .command('explain')
    .description('what decides about a URL, and what became of it: owner, filters, robots, history')
    .argument(...configArgument)
    .argument('<url>', 'a URL, known or not')
    .option(...jsonOption)
    .option(...dataOption)
    .action(
      ending(async (file: string, url: string, flags: Flags) => {
        const { explain } = await import('./explain/explain-command.ts');
        return explain(file, url, flags);
      }),
    );
}

function addExportCommand(root: Command, ending: Ending): void {
  root
    .command('export')
    .description('finished pages of all agents as JSON lines, their URLs, or the graph')
    .argument(...configArgument)
    .addOption(
      new Option(
        '--format <format>',
        'graph is source, tab, target: all links where archive.links was true, else first referrers',
      )
        .choices(exportFormats)
        .default(exportFormats[0]),
    )
    .option('--json', 'the same as --format jsonl')
    .option(...dataOption)
    .addHelpText('after', '\nExamples:\n  ubiring export crawl.yaml --format urls | head')
    .action(
      ending(async (file: string, flags: Flags<{ format?: ExportFormat }>) => {
        const { exportCrawl } = await import('./query/export-command.ts');
        return exportCrawl(file, flags.json ? { ...flags, format: 'jsonl' } : flags);
      }),
    );
}

const hostsArgument = [
  '<hosts>',
  'a host or a URL of it, "*.host" for its subdomains, or "*"; also for hosts found later',
] as const;

/** What acts on the whole cluster while it crawls. Each ends with 1 while an agent was not reached. */
function addOrderCommands(root: Command, ending: Ending): void {
  type OrderFlags = Flags<{ off?: boolean }>;
  const order = (name: string, description: string) =>
    root
      .command(name)
      .description(description)
      .argument(...configArgument)
      .option(...jsonOption)
      .option(...dataOption);
  order('pause', 'no new requests until resume; the crawl does not end meanwhile').action(
    ending(async (file: string, flags: Flags) => {
      const { pause } = await import('./commands/order-commands.ts');
      return pause(file, flags);
    }),
  );
  order('resume', 'go on after a pause').action(
    ending(async (file: string, flags: Flags) => {
      const { resume } = await import('./commands/order-commands.ts');
      return resume(file, flags);
    }),
  );
  order('block', 'no request to these hosts any more; what is queued of them is skipped')
    .argument(...hostsArgument)
    .option('--off', 'take it back: what it had skipped is queued again')
    .action(
      ending(async (file: string, hosts: string, flags: OrderFlags) => {
        const { block } = await import('./commands/order-commands.ts');
        return block(file, hosts, flags);
      }),
    );
  order('delay', 'another politeness delay for these hosts')
    .argument(...hostsArgument)
    .argument('[ms]', 'from the end of a request to the start of the next: milliseconds, or 2s')
    .option('--off', "take it back: the config's delay holds again")
    .action(
      ending(async (file: string, hosts: string, ms: string | undefined, flags: OrderFlags) => {
        const { delay } = await import('./commands/order-commands.ts');
        return delay(file, hosts, ms, flags);
      }),
    );
  order('seed', 'more URLs to begin from, while the crawl runs')
    .argument('<url...>', 'URLs in scope')
    .action(
      ending(async (file: string, urls: string[], flags: Flags) => {
        const { seed } = await import('./commands/seed-command.ts');
        return seed(file, urls, flags);
      }),
    );
}

function addEndingCommands(root: Command, ending: Ending): void {
  root
    .command('stop')
    .description('the agents named leave and hand their hosts over; without a name all stop')
    .argument(...configArgument)
    .argument('[id...]', 'agents that are to leave')
    .option(...jsonOption)
    .option(...dataOption)
    .action(
      ending(async (file: string, ids: string[], flags: Flags) => {
        const { stop } = await import('./commands/stop-command.ts');
        return stop(file, ids, flags);
      }),
    );
  root
    .command('kill')
    .description('SIGKILL to agents of this machine')
    .argument(...configArgument)
    .argument('<id...>', 'agents to kill')
    .option(...jsonOption)
    .option(...dataOption)
    .action(
      ending(async (file: string, ids: string[], flags: Flags) => {
        const { kill } = await import('./commands/kill-command.ts');
        return kill(file, ids, flags);
      }),
    );
}

function addConfigCommands(root: Command, ending: Ending): void {
  const config = root
    .command('config')
    .description('check or print a config, or print its JSON Schema');
  config
    .command('check')
    .description('every problem with its line; 4 where there is one')
    .argument(...configArgument)
    .option(...jsonOption)
    .option(...dataOption)
    .action(
      ending(async (file: string, flags: Flags) => {
        const { configCheck } = await import('./commands/config-command.ts');
        return configCheck(file, flags);
      }),
    );
  config
    .command('schema')
    .description('JSON Schema of a config, for editors')
    .argument('[config]', 'not needed: the schema is of all configs')
    .option('--json', 'JSON, which it prints anyway')
    .option(...dataOption)
    .action(
      ending(async () => {
        const { configSchemaText } = await import('./commands/config-command.ts');
        return configSchemaText();
      }),
    );
  config
    .command('print')
    .description('the values in effect, defaults filled in')
    .argument(...configArgument)
    .option(...jsonOption)
    .option(...dataOption)
    .action(
      ending(async (file: string, flags: Flags) => {
        const { configPrint } = await import('./commands/config-command.ts');
        return configPrint(file, flags);
      }),
    );
}

function addCheckCommand(root: Command, ending: Ending): void {
  root
    .command('check')
    .description('what the crawler would decide: JSON lines on stdin, one JSON line out for each')
    .addArgument(new Argument('<subject>', 'what is asked about').choices(subjects))
    .option('--config <config>', 'decide as with this config, instead of the defaults')
    .option('--resolve', 'address: look names up, as a fetch would')
    .option('--json', 'JSON lines, which it prints anyway')
    .option(...dataOption)
    .addHelpText('after', checkExamples)
    .action(
      ending(async (subject: Subject, flags: Flags<{ config?: string; resolve?: boolean }>) => {
        const { check } = await import('./check/check-command.ts');
        return check(subject, flags);
      }),
    );
}

/** An empty word is a variable of a script that is not set, and would mean the caller's directory. */
function directoryFlag(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('The path of a directory is expected.');
}

/** Refuses what can be neither a number nor identifiers before any config is read. */
function agentsFlag(text: string): string {
  if (/^(\d{1,6}|[\w.-]+(,[\w.-]+)*)$/.test(text) && !/^0+$/.test(text)) return text;
  throw new InvalidArgumentError('A number from 1 on, or identifiers such as a1,a2.');
}

function roundFlag(text: string): number {
  if (/^[1-9]\d{0,11}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A whole number from 1 on.');
}

/** Of the package that this file is in: `agent/cli/` in a checkout, `dist/agent/cli/` when installed. */
function version(): string {
  for (const up of ['../..', '../../..']) {
    try {
      const text = readFileSync(path.join(import.meta.dirname, up, 'package.json'), 'utf8');
      const { name, version } = JSON.parse(text) as { name?: string; version?: string };
      if (name === 'ubiring' && version !== undefined) return version;
    } catch {
      // One level further, then.
    }
  }
  return 'unknown';
}
