// A view of the cluster that obeys keys. It draws the last frame, and draws it again after each key,
// also while it waits for the agents. The last line shows the messages of a command, because stderr
// would spoil the picture.

import { Writable } from 'node:stream';
import type { DirectiveSummary } from '../../messaging/control-directives.ts';
import { giveAll } from '../commands/directive-commands.ts';
import type { ClusterAnswer } from '../common/ask.ts';
import { type Caller, calledBy } from '../common/caller.ts';
import { messageOf } from '../common/exit-code.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import type { Line } from './screen-line.ts';
import type { TopFrame } from './top-frame.ts';
import { type Key, press, START, type TopAction } from './top-keys.ts';
import { type Caption, type Size, viewLines } from './top-view.ts';

/** Where it is drawn. */
export interface Surface {
  readonly size: Size;
  draw(lines: readonly Line[]): void;
}

interface LiveParts {
  readonly config: ResolvedConfig;
  readonly who: Caller;
  readonly caption: () => Caption;
  readonly onQuit: () => void;
  /** The URL of the dashboard that this process serves; absent or null: it serves none. */
  readonly dashboard?: () => string | null;
}

export class LiveView {
  readonly #p: LiveParts;
  /** The caller to ask the cluster for: its messages go to the last line. */
  readonly who: Caller;
  #surface: Surface | null = null;
  #frame: TopFrame | null = null;
  #choice = START;
  #notice = '';
  #isGiving = false;

  constructor(parts: LiveParts) {
    this.#p = parts;
    const stderr = new Writable({
      decodeStrings: false,
      write: (text, _encoding, done) => {
        this.#say(String(text).trim());
        done();
      },
    });
    this.who = { ...parts.who, stderr };
  }

  drawOn(surface: Surface): void {
    this.#surface = surface;
  }

  show(frame: TopFrame): void {
    this.#frame = frame;
    this.draw();
  }

  draw(): void {
    if (this.#frame === null || this.#surface === null) return;
    const { size } = this.#surface;
    const shown = { choice: this.#choice, size, notice: this.#notice, caption: this.#p.caption() };
    this.#surface.draw(viewLines(this.#frame, shown));
  }

  onKey(key: Key): void {
    const { choice, action } = press(this.#choice, key);
    this.#choice = choice;
    this.#notice = '';
    this.#act(action);
    this.draw();
  }

  #say(text: string): void {
    this.#notice = text;
    this.draw();
  }

  #act(action: TopAction | null): void {
    if (action === 'quit') this.#p.onQuit();
    else if (action === 'pause') void this.#pauseOrResume();
    else if (action === 'dashboard') this.#notice = this.#dashboardText();
  }

  #dashboardText(): string {
    const own = this.#p.dashboard?.() ?? null;
    const all = this.#frame?.cluster.agents.flatMap(({ dashboard }) => dashboard ?? []) ?? [];
    const [first] = own === null ? all : [own];
    if (first !== undefined) return `dashboard: ${first}`;
    return 'no agent serves a dashboard (monitor.listen); that of a launch is in its output';
  }

  async #pauseOrResume(): Promise<void> {
    if (this.#isGiving) return;
    this.#isGiving = true;
    const verb = this.#frame?.progress.paused ? 'resume' : 'pause';
    this.#say(`${verb}: asks the agents`);
    try {
      // A key does not arrive in the asynchronous context of the command.
      const answer = await calledBy(this.who, () => giveAll(this.#p.config, verb, []));
      this.#say(`${verb}: ${receiptText(answer)}`);
    } catch (error) {
      this.#say(`${verb}: ${messageOf(error)}`);
    }
    this.#isGiving = false;
  }
}

function receiptText(answer: ClusterAnswer): string {
  if (!answer.ok) return `no agent accepted it: ${answer.failures.join(', ')}`;
  const said = Object.entries((answer.result as DirectiveSummary).agents);
  const missing = said.filter(([, what]) => what !== 'applied').map(([id]) => id);
  const later = `; ${missing.join(', ')} will obey after contact with another agent`;
  const applied = `applied by ${said.length - missing.length} of ${said.length} agents`;
  return missing.length === 0 ? applied : applied + later;
}
