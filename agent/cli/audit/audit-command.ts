// `ubiring audit`: proves that no URL is lost in a crawl, or in several networks that share one.

import type { Config } from '../../../config/config.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, load } from '../common/load-config.ts';
import { print, say } from '../common/output.ts';
import { foundAgents } from '../common/query-files.ts';
import { type AuditedCrawl, auditCrawl } from './audit-crawl.ts';
import { addNetworks, mismatchOf, type Network } from './audit-networks.ts';
import { networksText } from './audit-networks-text.ts';
import { auditText } from './audit-report.ts';
import { DamagedFile } from './audit-walk.ts';

type AuditFlags = CommonFlags & { readonly json?: boolean };

/**
 * Exits with 0 if the sum holds, 1 if not, 4 if a needed file is missing or damaged, or if the
 * configs are not those of networks of one crawl.
 *
 * @param others - the configs of other networks
 */
export async function audit(
  file: string,
  others: readonly string[],
  flags: AuditFlags,
): Promise<ExitCode> {
  if (others.length > 0) return auditNetworks([file, ...others], flags);
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded.code;
  const audited = auditCrawl(loaded.config);
  if (!audited.ok) return refuse(audited.lines);
  close([audited]);
  const code = audited.audit.ok ? 0 : 1;
  await print(flags.json ? `${JSON.stringify(audited.audit)}\n` : auditText(audited.audit), code);
  return code;
}

async function auditNetworks(paths: readonly string[], flags: AuditFlags): Promise<ExitCode> {
  if (flags.data !== undefined) {
    say('--data names one directory; with several configs, set agent.dataDir in each');
    return 2;
  }
  const configs: Config[] = [];
  for (const path of paths) {
    const loaded = load(path, flags, { part: true });
    if (!loaded.ok) return loaded.code;
    configs.push(loaded.config);
  }
  const mismatch = mismatchOf(configs);
  if (mismatch !== null) return refuse([mismatch]);
  const networks: Network[] = [];
  try {
    for (const config of configs) {
      const network = config.dedup.network!;
      if (foundAgents(config.agent.dataDir).length === 0) return refuse([nothingIn(config)]);
      const audited = auditCrawl(config);
      if (!audited.ok) return refuse(audited.lines.map((line) => `${network}: ${line}`));
      networks.push({ network, ...audited });
    }
    const together = addNetworks(networks, configs);
    const code = together.ok ? 0 : 1;
    await print(flags.json ? `${JSON.stringify(together)}\n` : networksText(together), code);
    return code;
  } catch (error) {
    if (error instanceof DamagedFile) return refuse([error.message]);
    throw error;
  } finally {
    close(networks);
  }
}

/** One --data would not do for several networks. */
function nothingIn({ file, agent, dedup }: Config): string {
  return (
    `network ${dedup.network}: no agent has a state in ${agent.dataDir}; correct agent.dataDir in ` +
    `${file}, or, if the data is lost, start the network over as docs/NETWORKS.md says`
  );
}

function close(audited: readonly Pick<AuditedCrawl, 'files'>[]): void {
  for (const { files } of audited) for (const file of files) file.close();
}

function refuse(lines: readonly string[]): 4 {
  for (const line of lines) say(line);
  return 4;
}
