// The audit of one crawl: known = done + queued + skipped + failed over the cluster. It reads the state
// files of all agents, dead ones included, also while agents run. SQLite checks each file for damage
// first, because the audit reads only some of its tables. If the file of an agent in view is missing,
// nothing can be proved and the audit fails.

import type { Config } from '../../../config/config.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import type { QuickCheck } from '../../storage/file/examination.ts';
import { AUDIT_RECORDS } from '../../storage/reads/audit-queries.ts';
import { messageOf, scratchEnd } from '../common/exit-code.ts';
import { launchCommand, nameOrLaunch, startCommand } from '../common/load-config.ts';
import { foundAgents, isDamage, isUnusedState, type StateFile } from '../common/query-files.ts';
import { noCopies, whereElse } from '../state-files/crawl-files.ts';
import { openFilesOf } from '../state-files/other-crawl.ts';
import { copiesOf, type Owners, ownersOf } from '../state-files/query-owners.ts';
import type { Audit } from './audit-report.ts';
import { AuditTally } from './audit-tally.ts';
import { DamagedFile, walkHosts } from './audit-walk.ts';

/** Time limit of the damage check in milliseconds: enough for a few GiB, which take longer to count. */
const checkMsMax = 20_000;

/** An audit, with its files still open. The caller closes them. */
export interface AuditedCrawl {
  readonly audit: Audit;
  readonly files: readonly StateFile[];
  readonly owners: Owners;
}

export type CrawlAudit =
  | ({ readonly ok: true } & AuditedCrawl)
  /** `lines`: the problems and their remedies. */
  | { readonly ok: false; readonly lines: readonly string[] };

/** If it fails, all files are closed. */
export function auditCrawl(config: Config): CrawlAudit {
  const { files, problems } = openFilesOf(config, []);
  let isOpen = false;
  try {
    const found = auditOf(config, files, problems);
    isOpen = found.ok;
    return found;
  } catch (error) {
    if (!(error instanceof DamagedFile)) throw scratchEnd(error) ?? error;
    const remedy = unreadable(config, ownersOf(files, config), [error.agent]);
    return { ok: false, lines: [error.message, ...remedy] };
  } finally {
    if (!isOpen) for (const opened of files) opened.close();
  }
}

/** @throws DamagedFile */
function auditOf(
  config: Config,
  files: readonly StateFile[],
  problems: readonly string[],
): CrawlAudit {
  const { dataDir } = config.agent;
  const refuse = (...lines: readonly string[]) => ({ ok: false, lines }) as const;
  const owners = ownersOf(files, config);
  if (problems.length > 0) {
    const unread = foundAgents(dataDir).filter((id) => !files.some(({ agent }) => agent === id));
    return refuse(...problems, ...unreadable(config, owners, unread));
  }
  if (files.length === 0) {
    return refuse(`no agent has a state in ${dataDir}; ${nameOrLaunch(config)}`);
  }
  const missing = owners.view.filter((id) => !files.some(({ agent }) => agent === id));
  if (missing.length > 0) {
    const said = missing.map((id) => `${id}: in view, but it has no state in ${dataDir}`);
    return refuse(...said, noProof, ...whereElse(config, owners));
  }
  const endsAt = monotonicMs() + checkMsMax;
  const unchecked = checkFiles(files, () => monotonicMs() < endsAt);
  return { ok: true, audit: { ...auditFiles(files, owners), unchecked }, files, owners };
}

const noProof = 'the audit proves nothing without it';

/** The remedies for a file that cannot be read. */
function unreadable(config: Config, owners: Owners, agents: readonly string[]): string[] {
  if (copiesOf(owners.backups, [...new Set([...owners.view, ...agents])]) === 0) {
    return [noProof, noCopies];
  }
  return [
    `${noProof}. The copies of the other agents restore it.`,
    'If no agent runs:',
    `  ${launchCommand(config, ' --repair')}`,
    'if the others run:',
    ...agents.map((id) => `  ${startCommand(id, config)}`),
    'if an agent does not come back and others have taken over its hosts, move its directory away',
  ];
}

/**
 * Has SQLite check all tables for damage, including those that the audit does not read.
 *
 * @param mayGoOn - false when the time is over
 * @returns by agent, the tables that were not checked in time
 * @throws DamagedFile
 */
export function checkFiles(
  files: readonly StateFile[],
  mayGoOn: () => boolean,
): Audit['unchecked'] {
  const left: Record<string, readonly string[]> = {};
  for (const file of files) {
    const { damage, unchecked } = checkOf(file, mayGoOn);
    if (damage !== null) throw new DamagedFile(file, damage);
    if (unchecked.length > 0) left[file.agent] = unchecked;
  }
  return left;
}

function checkOf(file: StateFile, mayGoOn: () => boolean): QuickCheck {
  try {
    return file.check(mayGoOn);
  } catch (error) {
    throw isDamage(error) ? new DamagedFile(file, messageOf(error)) : error;
  }
}

/** @throws DamagedFile */
function auditFiles(files: readonly StateFile[], owners: Owners): Omit<Audit, 'unchecked'> {
  const tally = new AuditTally(owners);
  for (const host of walkHosts(files)) tally.add(host);
  for (const file of files) {
    const [[records] = []] = file.plainRows(AUDIT_RECORDS);
    tally.close(file.agent, Number(records));
  }
  const { known, done, queued, failed, onTheWay, unsettled, hosts, ahead, behind } = tally;
  const { serverErrors, hostsUnreachable } = tally;
  return {
    ok: tally.addsUp,
    complete: owners.complete,
    known,
    done,
    queued,
    onTheWay,
    skipped: Object.fromEntries([...tally.skipped].sort()),
    skippedTotal: tally.skippedTotal,
    failed,
    serverErrors,
    hostsUnreachable,
    unsettled,
    hosts,
    copies: {
      wanted: Math.min(1 + owners.backups, owners.view.length),
      hostsWithFew: tally.hostsWithFewCopies,
      ahead,
      behind,
    },
    agents: owners.histories.flatMap(({ agent, end }, k) => {
      const inView = owners.view.includes(agent);
      const file = files[k]!;
      return inView || !isUnusedState(file) ? [{ agent, inView, end, file: file.path }] : [];
    }),
    problems: tally.problems,
    warnings: tally.warnings,
  };
}
