// `ubiring audit`: proves to the URL that nothing is lost: known = done + queued + skipped + failed
// over the cluster, from the state files of all agents, also of those that have died, while they run
// and after. Each file is read by its own read-only connection, as by `query`, and SQLite checks it
// for damage first, since the account reads some of its tables only. Without the file of an agent that
// is in view nothing can be proved, and the command says so instead.

import type { Config } from '../../../config/config.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import type { QuickCheck } from '../../storage/file/examination.ts';
import { AUDIT_RECORDS } from '../../storage/reads/audit-queries.ts';
import { type ExitCode, messageOf } from '../common/exit-code.ts';
import { type CommonFlags, load, shownCrawl, startCommand } from '../common/load-config.ts';
import { print, programName, say } from '../common/output.ts';
import { foundAgents, isDamage, isUnusedState, type StateFile } from '../common/query-files.ts';
import { noCopies, whereElse } from '../state-files/crawl-files.ts';
import { openFilesOf } from '../state-files/other-crawl.ts';
import { copiesOf, type Owners, ownersOf } from '../state-files/query-owners.ts';
import { type Audit, auditText } from './audit-report.ts';
import { AuditTally } from './audit-tally.ts';
import { DamagedFile, walkHosts } from './audit-walk.ts';

/** Some GiB at the speed of a disk; the account of so much takes longer than that. */
const checkMsMax = 20_000;

/** 0: it adds up; 1: it does not; 4: a file that is needed is missing or damaged. */
export async function audit(
  file: string,
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const { dataDir } = config.agent;
  const { files, problems } = openFilesOf(config, []);
  const unread = foundAgents(dataDir).filter((id) => !files.some(({ agent }) => agent === id));
  let result: Audit;
  try {
    const owners = ownersOf(files, config);
    if (problems.length > 0) return refuse(problems, ...unreadable(config, owners, unread));
    if (files.length === 0) {
      return refuse([`no agent has a state in ${dataDir}`], 'name the directory with --data');
    }
    const missing = owners.view.filter((id) => !files.some(({ agent }) => agent === id));
    if (missing.length > 0) {
      const said = missing.map((id) => `${id}: in view, and no state of it in ${dataDir}`);
      return refuse(said, 'nothing is proved without it', ...whereElse(config, owners));
    }
    const endsAt = monotonicMs() + checkMsMax;
    const unchecked = checkFiles(files, () => monotonicMs() < endsAt);
    result = { ...auditFiles(files, owners), unchecked };
  } catch (error) {
    if (error instanceof DamagedFile)
      return refuse([error.message], ...unreadable(config, ownersOf(files, config), [error.agent]));
    throw error;
  } finally {
    for (const opened of files) opened.close();
  }
  if (flags.json) await print(`${JSON.stringify(result)}\n`);
  else await print(auditText(result));
  return result.ok ? 0 : 1;
}

/** What helps, as commands that work as printed. */
function unreadable(config: Config, owners: Owners, agents: readonly string[]): string[] {
  if (copiesOf(owners.backups, [...new Set([...owners.view, ...agents])]) === 0) {
    return ['nothing is proved without it', noCopies];
  }
  return [
    'nothing is proved without it. What it held comes back from the copies of the other agents.',
    'If no agent runs:',
    `  ${programName()} launch ${shownCrawl(config)} --repair`,
    'if the others run:',
    ...agents.map((id) => `  ${startCommand(id, config)}`),
    'of an agent that is gone for good, and whose hosts others have taken over, move the directory away',
  ];
}

function refuse(problems: readonly string[], ...remedy: readonly string[]): 4 {
  for (const line of [...problems, ...remedy]) say(line);
  return 4;
}

/**
 * Has SQLite look for damage where the account does not read.
 *
 * @returns by agent, the tables that were not come to
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

/** The whole account. @throws DamagedFile */
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
    agents: owners.courses.flatMap(({ agent, end }, k) => {
      const inView = owners.view.includes(agent);
      const file = files[k]!;
      return inView || !isUnusedState(file) ? [{ agent, inView, end, file: file.path }] : [];
    }),
    problems: { count: tally.problems.count, list: tally.problems.list },
    warnings: { count: tally.warnings.count, list: tally.warnings.list },
  };
}
