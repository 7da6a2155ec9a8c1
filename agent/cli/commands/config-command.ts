// `ubiring config check|schema|print`: validates a config, prints the JSON Schema of configs, or
// prints a config with all defaults. Starts no agent and writes no file.

import type { Config } from '../../../config/config.ts';
import { type LoadedConfig, loadConfig } from '../../../config/file/load.ts';
import { type ConfigProblem, formatProblems } from '../../../config/file/problem.ts';
import { configJsonSchema } from '../../../config/keys/json-schema.ts';
import { printConfig, shownConfig } from '../../../config/printed-config.ts';
import { caller } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, load, shownPath } from '../common/load-config.ts';
import { print, say } from '../common/output.ts';
import { privateSeeds, warnOfPrivateSeeds } from '../common/private-seeds.ts';
import { wrongTokens } from '../http/token-source.ts';

type Flags = CommonFlags & { readonly json?: boolean };

/** Reports all problems, also those for which only `launch` and `agent` refuse; exits with 4 then. */
export async function configCheck(file: string, flags: Flags): Promise<ExitCode> {
  if (flags.json) {
    const loaded = loadConfig(file, { cwd: process.cwd(), dataDir: flags.data });
    const problems = loaded.ok ? tokenProblems(loaded.config) : loaded.problems;
    const ok = problems.length === 0;
    const warnings = loaded.ok && ok ? warningsOf(loaded) : [];
    await print(`${JSON.stringify({ ok, problems, warnings })}\n`);
    return ok ? 0 : 4;
  }
  const loaded = load(file, flags, { warn: true });
  if (!loaded.ok) return loaded.code;
  const problems = tokenProblems(loaded.config);
  if (problems.length > 0) {
    say(formatProblems(problems));
    return 4;
  }
  warnOfPrivateSeeds(loaded.config);
  await print(`${shownPath(loaded.config)} is valid\n`);
  return 0;
}

/** The tokens are in another file or in the environment, so their problems have no line here. */
function tokenProblems({ file, monitor }: Config): readonly ConfigProblem[] {
  const message = wrongTokens(monitor, caller().env);
  if (message === null) return [];
  return [{ code: 'config-rule', file, path: '', line: 0, column: 0, message, remedy: '' }];
}

function warningsOf({ config, warnings }: Extract<LoadedConfig, { ok: true }>): readonly string[] {
  const seeds = privateSeeds(config);
  return seeds === null ? warnings : [...warnings, seeds];
}

/** Prints a JSON Schema, draft 2020-12. */
export async function configSchemaText(): Promise<ExitCode> {
  await print(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}

/** Prints the values in effect, as YAML that is itself a config. */
export async function configPrint(file: string, flags: Flags): Promise<ExitCode> {
  const loaded = load(file, flags, { warn: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  await print(
    flags.json ? `${JSON.stringify(shownConfig(config), null, 2)}\n` : printConfig(config),
  );
  return 0;
}
