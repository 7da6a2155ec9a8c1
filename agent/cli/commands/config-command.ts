// `ubiring config check|schema|print`: validates a config, prints the JSON Schema of configs, or
// prints a config with all defaults. Starts no agent and writes no file.

import path from 'node:path';
import { type LoadedConfig, loadConfig } from '../../../config/file/load.ts';
import { type ConfigProblem, formatProblems } from '../../../config/file/problem.ts';
import { configJsonSchema } from '../../../config/keys/json-schema.ts';
import { printConfig, shownConfig } from '../../../config/printed-config.ts';
import { caller } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, load, shownPath } from '../common/load-config.ts';
import { causeAndRemedy, print, say, warn } from '../common/output.ts';
import { privateSeeds } from '../common/private-seeds.ts';
import { wrongTokens } from '../http/token-source.ts';

type Flags = CommonFlags & { readonly json?: boolean };

/** Reports all problems, also those for which only `launch` and `agent` refuse; exits with 4 then. */
export async function configCheck(file: string, flags: Flags): Promise<ExitCode> {
  const loaded = loadConfig(file, { cwd: process.cwd(), dataDir: flags.data });
  const problems = [...(loaded.ok ? [] : loaded.problems), ...tokenProblems(file, loaded)];
  const ok = loaded.ok && problems.length === 0;
  const warnings = ok ? warningsOf(loaded) : [];
  const code = ok ? 0 : 4;
  if (flags.json) await print(`${JSON.stringify({ ok, problems, warnings })}\n`, code);
  else if (!ok) say(formatProblems(problems));
  else {
    for (const warning of warnings) warn(warning);
    await print(`${shownPath(loaded.config)} is valid\n`);
  }
  return code;
}

/** The tokens are in another file or in the environment, so their problems have no line here. */
function tokenProblems(file: string, loaded: LoadedConfig): readonly ConfigProblem[] {
  const monitor = loaded.ok ? loaded.config.monitor : loaded.monitor;
  const wrong = monitor ? wrongTokens(monitor, caller().env) : null;
  if (wrong === null) return [];
  const { cause: message, remedy } = causeAndRemedy([wrong]);
  const at = { file: path.resolve(file), path: '', line: 0, column: 0 };
  return [{ code: 'config-rule', ...at, message, remedy }];
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
  const { isDataGiven: _, ...config } = loaded.config;
  await print(
    flags.json ? `${JSON.stringify(shownConfig(config), null, 2)}\n` : printConfig(config),
  );
  return 0;
}
