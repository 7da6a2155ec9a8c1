// `ubiring config check|schema|print`: validates a config, prints the JSON Schema of configs, or
// prints a config with all defaults. Starts no agent and writes no file.

import { type LoadedConfig, loadConfig } from '../../../config/file/load.ts';
import { configJsonSchema } from '../../../config/keys/json-schema.ts';
import { printConfig, shownConfig } from '../../../config/printed-config.ts';
import { caller } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, load, shownPath } from '../common/load-config.ts';
import { print, warn } from '../common/output.ts';
import { privateSeeds, warnOfPrivateSeeds } from '../common/private-seeds.ts';
import { wrongTokens } from '../http/token-source.ts';

type Flags = CommonFlags & { readonly json?: boolean };

/** Reports all problems; exits with 4 if there is one. */
export async function configCheck(file: string, flags: Flags): Promise<ExitCode> {
  if (flags.json) {
    const loaded = loadConfig(file, { cwd: process.cwd(), dataDir: flags.data });
    const { problems, warnings } = loaded.ok
      ? { problems: [], warnings: warningsOf(loaded) }
      : { problems: loaded.problems, warnings: [] };
    await print(`${JSON.stringify({ ok: loaded.ok, problems, warnings })}\n`);
    return loaded.ok ? 0 : 4;
  }
  const loaded = load(file, flags, { warn: true });
  if (!loaded.ok) return loaded.code;
  warnOfPrivateSeeds(loaded.config);
  const wrong = wrongTokens(loaded.config.monitor, caller().env);
  if (wrong !== null) warn(wrong);
  await print(`${shownPath(loaded.config)} is valid\n`);
  return 0;
}

function warningsOf({ config, warnings }: Extract<LoadedConfig, { ok: true }>): readonly string[] {
  const more = [privateSeeds(config), wrongTokens(config.monitor, caller().env)];
  return [...warnings, ...more.filter((text) => text !== null)];
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
