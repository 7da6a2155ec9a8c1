// The log of one agent: JSON lines in `DATA/ID/agent.log`, and on stderr where no person watches it,
// which is how containers collect logs. Nothing about a log may hold up or end a crawl: lines for a
// reader that does not read are dropped, and a log that cannot be written any more is given up.

import fs from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import { cannotWrite } from './exit-code.ts';
import { makeDirectory } from './make-directory.ts';

/** Bytes of log that wait for a slow reader of stderr; what exceeds them is dropped. */
const waitingBytesMax = 1024 ** 2;
/** What the end of the process waits for stderr to take the last lines. */
const flushMsMax = 300;

export interface AgentLog {
  readonly ok: true;
  readonly log: pino.Logger;
  /** Resolves when the last lines are written, or nobody takes them. */
  flush(): Promise<void>;
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
  const streams: pino.StreamEntry[] = [{ stream: writerTo(descriptor) }];
  const toStderr = process.stderr.isTTY ? null : stderrDestination();
  // Nothing but its `write`: after a fatal line pino would flush all else in step, and pino's own
  // destination then tries for ever where the disk is full.
  if (toStderr) streams.push({ stream: { write: (line) => void toStderr.write(line) } });
  return {
    ok: true,
    log: pino({ base: { agent: id } }, pino.multistream(streams)),
    flush: () => (toStderr ? flushed(toStderr) : Promise.resolve()),
  };
}

/** In step with the agent: the lines before a crash are those that matter. */
function writerTo(descriptor: number): pino.DestinationStream {
  return {
    write: (line) => {
      try {
        fs.writeSync(descriptor, line);
      } catch {
        // The disk is full or broken: the state will say so, with an exit code.
      }
    },
  };
}

type Destination = ReturnType<typeof pino.destination>;

function stderrDestination(): Destination {
  const toStderr = pino.destination({ dest: 2, sync: false, maxLength: waitingBytesMax });
  toStderr.on('error', ignore);
  return toStderr;
}

function flushed(destination: Destination): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, flushMsMax);
    destination.flush(() => {
      clearTimeout(late);
      resolve();
    });
  });
}

function ignore(): void {}
