// Shows progress on stderr. A person at a terminal gets the view of `top` as a block that is redrawn
// in place, with its keys; otherwise a plain line is printed from time to time. Messages about events
// are printed at once, above the block.

import { caller } from '../common/caller.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { isScreen, say, styled } from '../common/output.ts';
import { progressLine } from '../status/progress-line.ts';
import { Keyboard } from '../top/keyboard.ts';
import { LiveView } from '../top/live-view.ts';
import { styledLine } from '../top/screen.ts';
import type { Line } from '../top/screen-line.ts';
import type { TopFrame } from '../top/top-frame.ts';
import type { Key } from '../top/top-keys.ts';
import { type Caption, KEYS, type Size } from '../top/top-view.ts';
import { isForeground } from './foreground.ts';

/** Milliseconds between two plain lines, so that the log of a long crawl stays readable. */
const lineEveryMs = 5000;
/** Around the block: a wide character may make a line too long, and a second line would stay. */
const WRAPS = { off: '\u001b[?7l', on: '\u001b[?7h' };

const captionOf = (hasKeys: boolean): Caption => ({
  title: 'ubiring launch',
  keys: hasKeys ? `${KEYS}  q stop` : 'Ctrl-C stops the agents',
  quits: 'stops the agents, as Ctrl-C does; the next launch continues',
});

interface ProgressParts {
  readonly config: ResolvedConfig;
  /** The operator asks to stop, once or again. */
  readonly onStop: () => void;
  /** The URL of the dashboard; null: there is none, or none yet. */
  readonly dashboard: () => string | null;
  /** The agents of this launch that run: the lines count no others. */
  readonly running: () => readonly string[];
}

export class ProgressView {
  readonly #stream = process.stderr;
  readonly #live: LiveView | null;
  readonly #mayType: boolean;
  readonly #running: () => readonly string[];
  #keyboard: Keyboard | null = null;
  #isEnded = false;
  /** Number of lines of the block on the screen. */
  #drawn = 0;
  #lineAt = -Infinity;

  /**
   * @param live - whether to draw the block; by default if a person watches stderr
   * @param mayType - whether to read keys while in the foreground
   */
  constructor(
    { config, onStop, dashboard, running }: ProgressParts,
    live = isScreen(process.stderr),
    mayType = live && process.stdin.isTTY === true,
  ) {
    const parts = { config, who: caller(), onQuit: onStop, dashboard };
    const caption = () => captionOf(this.#keyboard !== null);
    this.#live = live ? new LiveView({ ...parts, caption }) : null;
    this.#live?.drawOn(this);
    this.#mayType = mayType;
    this.#running = running;
  }

  get size(): Size {
    const { columns, rows } = this.#stream;
    // The cursor is below the block.
    return { columns: columns || 80, rows: (rows || 24) - 1 };
  }

  /** @param now - monotonic milliseconds */
  show(frame: TopFrame, now: number): void {
    if (this.#live) {
      this.#listen();
      this.#live.show(frame);
    } else if (now - this.#lineAt >= lineEveryMs) {
      this.#lineAt = now;
      const part = this.#hasOthers(frame) ? 'of the agents started here: ' : '';
      say(`${part}${progressLine(frame.progress)}`);
    }
  }

  /** Whether the cluster has agents other than those of this launch that run. */
  #hasOthers({ cluster }: TopFrame): boolean {
    const running = this.#running();
    return cluster.agents.some(({ members }) => members.some(({ id }) => !running.includes(id)));
  }

  draw(lines: readonly Line[]): void {
    if (this.#isEnded) return;
    this.#clear();
    const text = lines.map((line) => `${styledLine(line, this.#stream)}\n`).join('');
    this.#stream.write(WRAPS.off + text + WRAPS.on);
    this.#drawn = lines.length;
  }

  /** Prints a message that stays on the screen. */
  say(text: string): void {
    this.#clear();
    say(text);
  }

  warn(text: string): void {
    this.say(styled('yellow', text, this.#stream));
  }

  /** Removes the block, and reads no more keys. */
  end(): void {
    this.#clear();
    this.#isEnded = true;
    this.#keyboard?.close();
    this.#keyboard = null;
  }

  #clear(): void {
    // The terminal has echoed ^C if the user pressed it: return to the start of the line.
    if (this.#drawn > 0) this.#stream.write(`\r\u001b[${this.#drawn}A\u001b[J`);
    this.#drawn = 0;
  }

  /** Called for each frame, since nothing tells a process that it is in the foreground again. */
  #listen(): void {
    if (!this.#mayType || this.#isEnded || this.#keyboard || !isForeground()) return;
    this.#keyboard = new Keyboard(process.stdin, (key) => this.#onKey(key));
  }

  #onKey(key: Key): void {
    if (key.ctrl && key.name === 'z') return this.#suspend();
    this.#live?.onKey(key);
  }

  /** As the terminal does on Ctrl-Z when it is not in raw mode: suspends the agents, too. */
  #suspend(): void {
    this.#clear();
    this.#keyboard?.close();
    this.#keyboard = null;
    process.kill(0, 'SIGTSTP');
  }
}
