// The log of one agent: JSON lines in `DATA/ID/agent.log`, and on stderr where no person watches it,
// which is how containers collect logs. Nothing about a log may hold up or end a crawl, nor the end of
// the process: lines for a reader that does not read are dropped, and so are lines that the disk does
// not take. SIGHUP reopens the file, so that it can be rotated.

import fs from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import { cannotWrite } from '../common/exit-code.ts';
import { makeDirectory } from '../common/make-directory.ts';
import { writeStderr } from '../common/output.ts';

/** How long the end of the process waits for stderr to take the last lines. */
const flushMsMax = 300;

export interface AgentLog {
  readonly ok: true;
  readonly log: pino.Logger;
  /** Resolves when the last lines are written, or nobody takes them. */
  flush(): Promise<void>;
  /** Opens the file anew under its name; keeps the open one where that fails. */
  reopen(): void;
}

/** Why there is no log; the code is that of the process (3: disk full). */
export interface NoAgentLog {
  readonly ok: false;
  readonly code: 3 | 4;
  readonly message: string;
}

/** Makes the agent's directory if it is not there. */
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
  // Not pino's own destination for stderr: while the disk behind stderr is full it tries for ever at
  // the end of the process, and a full pipe holds its thread, for which the process then waits.
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
        log.info('the log file was opened anew');
      } catch (error) {
        log.warn({ err: error }, 'the log file cannot be opened anew: the open one is kept');
      }
    },
  };
}

/** In step with the agent: the lines before a crash are those that matter. */
function append(descriptor: number, line: string): void {
  try {
    fs.writeSync(descriptor, line);
  } catch {
    // The disk is full or broken: the state will say so, with an exit code.
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
