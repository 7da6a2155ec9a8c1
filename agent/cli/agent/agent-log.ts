// The log of one agent: JSON lines in `DATA/ID/agent.log` and, unless stderr is a terminal, on stderr,
// where containers collect logs. Logging never delays a crawl or an exit: lines that a slow reader or
// the disk does not accept are dropped. SIGHUP reopens the file, so that it can be rotated.

import fs from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import { cannotWrite } from '../common/exit-code.ts';
import { makeDirectory } from '../common/make-directory.ts';
import { writeStderr } from '../common/output.ts';

/** How long an exiting process waits until stderr has accepted the last lines, in milliseconds. */
const flushMsMax = 300;

export interface AgentLog {
  readonly ok: true;
  readonly log: pino.Logger;
  /** Resolves when the last lines are on stderr, or after `flushMsMax`. */
  flush(): Promise<void>;
  /** Reopens the file by its name; on failure, keeps the open one. */
  reopen(): void;
}

/** Why no log could be opened, with the exit code of the process. */
export interface NoAgentLog {
  readonly ok: false;
  readonly code: 3 | 4;
  readonly message: string;
}

/** Creates the agent's directory if it is missing. */
export function openAgentLog(dataDir: string, id: string): AgentLog | NoAgentLog {
  const directory = path.join(dataDir, id);
  const file = path.join(directory, 'agent.log');
  let descriptor: number;
  try {
    makeDirectory(directory);
    descriptor = fs.openSync(file, 'a');
  } catch (error) {
    return { ok: false, ...cannotWrite(file, error) };
  }
  const streams: pino.StreamEntry[] = [{ stream: { write: (line) => append(descriptor, line) } }];
  const isOnStderr = !process.stderr.isTTY;
  // pino's own stderr destination would block the exit of the process: it retries forever while the
  // disk behind stderr is full, and its thread blocks on a full pipe.
  if (isOnStderr) streams.push({ stream: { write: writeStderr } });
  const log = pino({ base: { agent: id } }, pino.multistream(streams));
  return {
    ok: true,
    log,
    flush: () => (isOnStderr ? stderrFlushed() : Promise.resolve()),
    reopen: () => {
      try {
        const fresh = fs.openSync(file, 'a');
        fs.closeSync(descriptor);
        descriptor = fresh;
        log.info('the log file was reopened');
      } catch (error) {
        log.warn({ err: error }, 'the log file cannot be reopened; the open file is kept');
      }
    },
  };
}

/** Writes synchronously, because the lines before a crash matter most. */
function append(descriptor: number, line: string): void {
  try {
    fs.writeSync(descriptor, line);
  } catch {
    // The disk is full or broken: writes to the state file report that, with an exit code.
  }
}

function stderrFlushed(): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, flushMsMax);
    process.stderr.write('', () => {
      clearTimeout(late);
      resolve();
    });
  });
}
