// The command line `ubiring`: its commands, their arguments and options, and their exit codes.
// The code of a command is imported when the command runs, so a short command does not wait for
// the crawler to load. Usage errors exit with 2.

import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { wallMs } from '../runtime/clock.ts';
import { checkExamples, subjects } from './check/check-subjects.ts';
import { type Caller, calledBy, caller } from './common/caller.ts';
import { codeOfError, type ExitCode, Refusal } from './common/exit-code.ts';
import { failureJson, print, say, version } from './common/output.ts';
import { type ExportFormat, exportFormats } from './query/export-formats.ts';
import { queryArguments } from './query/query-arguments.ts';
import { agentsQuery, failuresQuery, statusesQuery } from './query/query-examples.ts';
import { formats } from './query/query-format.ts';

/** Runs the command that the caller's arguments name. Reports errors on stderr; never rejects. */
export function commandLine(who: Caller): Promise<ExitCode> {
  return calledBy(who, async () => {
    const args = queryArguments(who.argv);
    const code = await run(args);
    const isJson = code !== 0 && args.includes('--json');
    const failure = isJson ? failureJson(code, args[2]) : null;
    if (failure !== null) await print(failure, code);
    return code;
  });
}

async function run(args: string[]): Promise<ExitCode> {
  try {
    // Set by the command that runs.
    let exitCode: ExitCode = 0;
    const root = program((load) => async (...args) => {
      const command = await load();
      exitCode = await command(...args);
    });
    await root.parseAsync(args);
    return exitCode;
  } catch (error) {
    // Commander throws an error with code 0 for --help and --version; its other errors are usage
    // errors.
    if (error instanceof CommanderError) {
      if (error.exitCode !== 0) return 2;
      // Resolves when the help is written. If stdout fails, `main.ts` ends the process.
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
const jsonOption = ['--json', 'print JSON on stdout, even on failure'] as const;
const alwaysJson = ['--json', 'accepted; the output is always JSON'] as const;
const configArgument = ['<config>', 'path of the config file, YAML or JSON'] as const;

const examples = `
Examples:
  ubiring launch crawl.yaml                   crawl to the end, with live progress
  ubiring status crawl.yaml                   show what each agent is doing
  ubiring top crawl.yaml                      watch all agents, problems and events
  ubiring query crawl.yaml "${statusesQuery}"
  ubiring kill crawl.yaml a2                  watch the others take over
  ubiring audit crawl.yaml                    check that every known URL is accounted for
  ubiring pause crawl.yaml                    send no new requests until resume
  ubiring explain crawl.yaml URL              show why a URL is crawled or not, and its history
  ubiring stop crawl.yaml                     stop all agents; the next launch continues
  ubiring config check crawl.yaml             show every problem of a config, with its line

Exit codes: 0 finished, 1 unexpected, 2 usage, 3 disk full, 4 config or data directory,
5 port in use or cluster refused, 11 interrupted (the next launch continues)`;

type Run<Args extends unknown[]> = (...args: Args) => Promise<ExitCode>;

/** Makes a commander action that loads and runs a function, and keeps its exit code. */
type ActionOf = <Args extends unknown[]>(
  load: () => Run<Args> | Promise<Run<Args>>,
) => (...args: Args) => Promise<void>;

function program(action: ActionOf): Command {
  const root = new Command('ubiring')
    .description('A crawler cluster of identical agents, without a coordinator.')
    .version(version(), '-V, --version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void caller().stdout.write(text),
      writeErr: (text) => say(text.trimEnd()),
      getOutHelpWidth: () => caller().stdout.columns ?? 80,
    })
    .showHelpAfterError('(--help shows commands and options)')
    .addHelpText('after', examples);
  addLaunchCommand(root, action);
  addAgentCommand(root, action);
  addReadingCommands(root, action);
  addExportCommand(root, action);
  addDirectiveCommands(root, action);
  addReplayCommand(root, action);
  addExitCommands(root, action);
  addConfigCommands(root, action);
  addCheckCommand(root, action);
  return root;
}

type Flags<T> = { readonly data?: string; readonly json?: boolean } & T;

/** A command with the config argument and the options that most commands have. */
function command(
  parent: Command,
  name: string,
  description: string,
  json: readonly [string, string] = jsonOption,
): Command {
  return parent
    .command(name)
    .description(description)
    .argument(...configArgument)
    .option(...json)
    .option(...dataOption);
}

/** @param lines - arguments after the program */
function exampleText(...lines: readonly string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  ubiring ${line}`)].join('\n');
}

const launchHelp = `
A launch is refused (4) if it leaves out agents that alone know some URLs, for
example because agents were removed or renamed. If a state file of a complete
crawl is missing or damaged, launch restores it from the copies and exits.

Examples:
  ubiring launch crawl.yaml                           starts or continues the crawl
  ubiring launch crawl.yaml --agents 2 --fresh
  ubiring launch crawl.yaml --repair`;

function addLaunchCommand(root: Command, action: ActionOf): void {
  root
    .command('launch')
    .description(
      "start the config's agents of this machine, one process each, and wait for completion",
    )
    .argument(...configArgument)
    .option('--agents <which>', 'the first N agents, or identifiers: a1,a2', agentsFlag)
    .option(
      '--fresh',
      'delete the state of the started agents, move archives aside, and start over; with ' +
        'dedup.networks, pages of other networks are still skipped',
    )
    .option('--delete-archives', 'with --fresh: delete the WARC archives, also those moved earlier')
    .option('--refresh', 'request the pages of a complete crawl again, to find what has changed')
    .option('--repair', 'check all state files completely; restore lost ones from the copies')
    .option('--restart', 'restart an agent that dies, after a growing wait')
    .option('--no-monitor', 'serve no dashboard')
    .option(...dataOption)
    .addHelpText('after', launchHelp)
    .action(action(async () => (await import('./launch/launch-command.ts')).launch));
}

const agentHelp = exampleText(
  'agent crawl.yaml --id a3 --data /srv/crawl',
  'agent crawl.yaml --id n1 --listen tcp://10.0.0.5:7101',
);

function addAgentCommand(root: Command, action: ActionOf): void {
  type AgentFlags = Flags<{
    id: string;
    listen?: string;
    address?: string;
    capacity?: string;
    refresh?: number | true;
    repair?: boolean;
  }>;
  root
    .command('agent')
    .description('run one agent in the foreground')
    .argument(...configArgument)
    .requiredOption('--id <id>', 'which agent of the config, or a new one with --listen')
    .option('--listen <endpoint>', 'the endpoint of a new agent; a restart keeps it')
    .option('--address <endpoint>', 'where others reach the new agent, if not at --listen')
    .option('--capacity <number>', "the new agent's relative share of hosts (default: 1)")
    .option(
      '--refresh [round]',
      'as launch --refresh; a number above the last round (default: Unix seconds)',
      numberFlag,
    )
    .option('--repair', 'as launch --repair; use it on each machine whose state is to be restored')
    .option(...dataOption)
    .addHelpText('after', agentHelp)
    .action(
      action(() => async (file: string, { refresh, ...flags }: AgentFlags) => {
        const { agentCommand } = await import('./agent/agent-command.ts');
        if (refresh === undefined) return agentCommand(file, flags);
        const round = refresh === true ? Math.floor(wallMs() / 1000) : refresh;
        return agentCommand(file, { ...flags, refresh: round });
      }),
    );
}

const topHelp = `
On a terminal, the key h explains the keys and columns, and q quits. Without a
terminal, or if NO_COLOR, TERM=dumb, AI_AGENT, CLAUDECODE or CURSOR_AGENT is
set, top prints one line a second. It ends when the crawl is complete.

Examples:
  ubiring top crawl.yaml
  ubiring top crawl.yaml --json --count 1`;

function addReadingCommands(root: Command, action: ActionOf): void {
  command(root, 'status', 'ask any running agent about all of them')
    .addHelpText('after', exampleText('status crawl.yaml', 'status crawl.yaml --json | jq .agents'))
    .action(action(async () => (await import('./status/status-command.ts')).status));
  command(root, 'top', 'watch all running agents, problems and events, updated each second', [
    '--json',
    'print one JSON object a second, even on failure',
  ])
    .option('--count <updates>', 'end after so many updates, one a second', numberFlag)
    .addHelpText('after', topHelp)
    .action(action(async () => (await import('./top/top-command.ts')).top));
  command(
    root,
    'query',
    'read-only SQL over pages, frontier, skipped, hosts, links, events, orders and samples',
    ['--json', 'the same as --format json'],
  )
    .argument('<sql>', 'one read-only statement')
    .addOption(new Option('--format <format>', 'json prints one array').choices(formats))
    .addHelpText(
      'after',
      exampleText(
        `query crawl.yaml "${agentsQuery}"`,
        `query crawl.yaml "${failuresQuery}" --format csv`,
      ),
    )
    .action(action(async () => (await import('./query/query-command.ts')).query));
  command(root, 'owner', 'preference list of each host, owner first, as JSON lines', alwaysJson)
    .argument('<host-or-url...>', 'hosts or URLs')
    .action(action(async () => (await import('./commands/owner-command.ts')).owner));
  command(root, 'ring', "each agent's share of hosts").action(
    action(async () => (await import('./commands/ring-command.ts')).ring),
  );
  command(
    root,
    'audit',
    'check that known = done + queued + skipped + failed and that copies agree; exit with 1 if not',
  )
    .argument('[configs...]', 'other networks of the same crawl: also adds up over all of them')
    .addHelpText('after', exampleText('audit berlin.yaml paris.yaml'))
    .action(action(async () => (await import('./audit/audit-command.ts')).audit));
  command(
    root,
    'explain',
    'why a URL is crawled or not, and its history: owner, filters, robots.txt, state',
  )
    .argument('<url>', 'a URL, known or not')
    .addHelpText('after', exampleText('explain crawl.yaml https://example.org/page'))
    .action(action(async () => (await import('./explain/explain-command.ts')).explain));
}

function addExportCommand(root: Command, action: ActionOf): void {
  type ExportFlags = Flags<{ format?: ExportFormat }>;
  command(root, 'export', 'finished pages of all agents as JSON lines, their URLs, or the graph', [
    '--json',
    'the same as --format jsonl',
  ])
    .addOption(
      new Option(
        '--format <format>',
        'graph prints source, tab, target: all links of pages read with archive.links, else first referrers',
      )
        .choices(exportFormats)
        .default(exportFormats[0]),
    )
    .addHelpText(
      'after',
      exampleText('export crawl.yaml > pages.jsonl', 'export crawl.yaml --format urls | head'),
    )
    .action(
      action(() => async (file: string, flags: ExportFlags) => {
        const { exportCrawl } = await import('./query/export-command.ts');
        return exportCrawl(file, flags.json ? { ...flags, format: 'jsonl' } : flags);
      }),
    );
}

const hostsArgument = [
  '<hosts>',
  'a host or one of its URLs, "*.host" for its subdomains, or "*"; includes hosts found later',
] as const;

/** Directives, which exit with 1 if an agent was not reached, and `seed`, which one agent takes. */
function addDirectiveCommands(root: Command, action: ActionOf): void {
  const load = () => import('./commands/directive-commands.ts');
  command(root, 'pause', 'send no new requests until resume; the crawl does not end').action(
    action(async () => (await load()).pause),
  );
  command(root, 'resume', 'continue after a pause').action(
    action(async () => (await load()).resume),
  );
  command(root, 'block', 'send no more requests to these hosts, and skip their queued URLs')
    .argument(...hostsArgument)
    .option('--off', 'undo a block: the URLs that it skipped are queued again')
    .addHelpText(
      'after',
      exampleText("block crawl.yaml '*.example.org'", "block crawl.yaml '*.example.org' --off"),
    )
    .action(action(async () => (await load()).block));
  command(root, 'delay', 'change the politeness delay of these hosts')
    .argument(...hostsArgument)
    .argument(
      '[ms]',
      'from the end of a request to the next: 500 (ms), or 2s; needed without --off',
    )
    .option('--off', "undo a delay: the config's delay applies again")
    .addHelpText(
      'after',
      exampleText('delay crawl.yaml example.org 2s', 'delay crawl.yaml example.org --off'),
    )
    .action(action(async () => (await load()).delay));
  const agentArgument = ['<agent>', 'an identifier'] as const;
  command(root, 'drain', 'an agent hands over its hosts and takes no others, but stays a member')
    .argument(...agentArgument)
    .action(action(async () => (await load()).drain));
  command(root, 'undrain', 'a drained agent takes hosts again')
    .argument(...agentArgument)
    .action(action(async () => (await load()).undrain));
  command(root, 'capacity', "change an agent's share of hosts while it runs")
    .argument(...agentArgument)
    .argument('<number>', 'relative share, above 0, up to 1000; or default: as in the config')
    .action(action(async () => (await load()).capacity));
  command(root, 'threads', "change an agent's number of threads while it runs")
    .argument('<agent>', 'an identifier, or all')
    .argument('<number>', '1 to 4096; or default: as in the config')
    .action(action(async () => (await load()).threads));
  command(root, 'seed', 'add seeds while the crawl runs')
    .argument('<url...>', 'URLs in scope')
    .addHelpText('after', exampleText('seed crawl.yaml https://example.org/ https://example.com/'))
    .action(action(async () => (await import('./commands/seed-command.ts')).seed));
}

function addReplayCommand(root: Command, action: ActionOf): void {
  command(root, 'replay', 'serve the dashboard of a crawl that has ended, to look at its past')
    .addHelpText('after', exampleText('replay crawl.yaml'))
    .action(action(async () => (await import('./commands/replay-command.ts')).replay));
}

function addExitCommands(root: Command, action: ActionOf): void {
  command(root, 'stop', 'stop all agents; with IDs, those agents hand their hosts over and leave')
    .argument('[id...]', 'agents that leave')
    .action(action(async () => (await import('./commands/stop-command.ts')).stop));
  command(root, 'kill', 'send SIGKILL to agents of this machine')
    .argument('<id...>', 'agents to kill')
    .action(action(async () => (await import('./commands/kill-command.ts')).kill));
}

function addConfigCommands(root: Command, action: ActionOf): void {
  const load = () => import('./commands/config-command.ts');
  const config = root
    .command('config')
    .description('check or print a config, or print its JSON Schema');
  command(config, 'check', 'show every problem with its line; exits with 4 if there is one').action(
    action(async () => (await load()).configCheck),
  );
  config
    .command('schema')
    .description('JSON Schema of a config, for editors')
    .argument('[config]', 'ignored: the schema is the same for all configs')
    .option(...alwaysJson)
    .option(...dataOption)
    .action(action(async () => (await load()).configSchemaText));
  command(config, 'print', 'the values in effect, including defaults').action(
    action(async () => (await load()).configPrint),
  );
}

function addCheckCommand(root: Command, action: ActionOf): void {
  root
    .command('check')
    .description(
      'what the crawler would decide: reads JSON lines on stdin, answers each with a JSON line',
    )
    .addArgument(new Argument('<subject>', 'what to check').choices(subjects))
    .option('--config <config>', 'decide by this config instead of the defaults')
    .option('--resolve', 'for address: look up names, as a fetch would')
    .option(...alwaysJson)
    .option(...dataOption)
    .addHelpText('after', checkExamples)
    .action(action(async () => (await import('./check/check-command.ts')).check));
}

/** Refuses an empty path: an unset shell variable would otherwise mean the working directory. */
function directoryFlag(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('The path of a directory is expected.');
}

/** Characters of identifiers, as the config permits them. */
const AGENTS = /^[\p{L}\p{M}\p{N}._-]+(\s*,\s*[\p{L}\p{M}\p{N}._-]+)*$/u;

/** Checks the form of `--agents` before the config is read. */
function agentsFlag(text: string): string {
  const given = text.trim();
  if (AGENTS.test(given) && !/^0+$/.test(given)) return given;
  throw new InvalidArgumentError('Give a number of 1 or more, or identifiers such as a1,a2.');
}

/** A round, or a number of updates. */
function numberFlag(text: string): number {
  if (/^[1-9]\d{0,11}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number of 1 or more.');
}
