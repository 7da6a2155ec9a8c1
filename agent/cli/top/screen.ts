// A whole terminal for a view that is drawn in place: the alternate screen, keys as they are pressed,
// and the size. However the process ends, other than by SIGKILL, the terminal is as it was before.

import type { InputStream, OutputStream } from '../common/caller.ts';
import { styled } from '../common/output.ts';
import { Keyboard } from './keyboard.ts';
import type { Line } from './screen-line.ts';
import type { Key } from './top-keys.ts';
import type { Size } from './top-view.ts';

/** The alternate screen, no cursor, and no wrapping: a wide character may make a line too long. */
const OPEN = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const CLOSE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface ScreenEvents {
  readonly onKey: (key: Key) => void;
  readonly onResize: () => void;
  /** A signal asks the process to end. */
  readonly onEnd: () => void;
}

export class Screen {
  readonly #stdout: OutputStream;
  readonly #events: ScreenEvents;
  readonly #keyboard: Keyboard;
  readonly #close = () => this.close();
  #isOpen = true;

  /** Opens the screen. */
  constructor(stdin: InputStream, stdout: OutputStream, events: ScreenEvents) {
    this.#stdout = stdout;
    this.#events = events;
    // First: from here on, an error or a signal must find the way back.
    process.once('exit', this.#close);
    for (const signal of SIGNALS) process.on(signal, events.onEnd);
    stdout.on('resize', events.onResize);
    this.#keyboard = new Keyboard(stdin, events.onKey);
    stdout.write(OPEN);
  }

  get size(): Size {
    const { columns, rows } = this.#stdout;
    return { columns: columns || 80, rows: rows || 24 };
  }

  /** Draws over the previous lines, so that nothing flickers. A slow terminal misses frames. */
  draw(lines: readonly Line[]): void {
    if (!this.#isOpen || this.#stdout.writableNeedDrain) return;
    // The last line is at the bottom.
    const blank = Array.from({ length: this.size.rows - lines.length }, (): Line => ({ text: '' }));
    const texts = lines
      .toSpliced(-1, 0, ...blank)
      .map((line) => `${styledLine(line, this.#stdout)}${REST_OF_LINE}`);
    this.#stdout.write(`${HOME}${texts.join('\r\n')}${REST_OF_SCREEN}`);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#stdout.write(CLOSE);
    this.#keyboard.close();
    this.#stdout.off('resize', this.#events.onResize);
    for (const signal of SIGNALS) process.off(signal, this.#events.onEnd);
    process.off('exit', this.#close);
  }
}

export function styledLine({ text, style, beside = '' }: Line, stream: OutputStream): string {
  return (style === undefined ? text : styled(style, text, stream)) + beside;
}
