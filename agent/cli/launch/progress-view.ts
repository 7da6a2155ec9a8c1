// Shows progress on stderr. A terminal gets a block that is redrawn in place; otherwise a plain
// line is printed from time to time. Messages about events are printed at once, above the block.

import { count, cut, durationText, printable, say, styled } from '../common/output.ts';
import type { Progress } from './launch-progress.ts';

/** Milliseconds between two plain lines, so that the log of a long crawl stays readable. */
const lineEveryMs = 5000;
/** Characters of the reason why hosts wait for robots.txt, so that the line stays short. */
const reasonLengthMax = 60;

export class ProgressView {
  readonly #stream = process.stderr;
  readonly #live: boolean;
  /** Number of lines of the block on the screen. */
  #drawn = 0;
  #lineAt = -Infinity;

  /** @param live - whether to draw the block; by default if stderr is a terminal */
  constructor(live = process.stderr.isTTY === true) {
    this.#live = live;
  }

  /** @param now - monotonic milliseconds */
  show(progress: Progress, now: number): void {
    if (this.#live) {
      this.#clear();
      const width = this.#stream.columns || 80;
      const lines = progressBlock(progress).map((line) => cut(line, width));
      this.#stream.write(`${lines.join('\n')}\n`);
      this.#drawn = lines.length;
    } else if (now - this.#lineAt >= lineEveryMs) {
      this.#lineAt = now;
      say(progressLine(progress));
    }
  }

  /** Prints a message that stays on the screen. */
  say(text: string): void {
    this.#clear();
    say(text);
  }

  warn(text: string): void {
    this.say(styled('yellow', text, this.#stream));
  }

  /** Removes the block. */
  end(): void {
    this.#clear();
  }

  #clear(): void {
    // The terminal has echoed ^C if the user pressed it: return to the start of the line.
    if (this.#drawn > 0) this.#stream.write(`\r\u001b[${this.#drawn}A\u001b[J`);
    this.#drawn = 0;
  }
}

export function progressBlock(progress: Progress): string[] {
  const { alive, total, hosts, hostsWithQueue, pages, queued, openRequests } = progress;
  const waits = progress.hostsAwaitingRobots;
  return [
    `agents  ${alive} of ${total} alive`,
    `hosts   ${count(hosts)} known, ${count(hostsWithQueue)} with work` +
      (waits > 0 ? `, ${waitsText(progress)}` : ''),
    `pages   ${count(pages)} done, ${progress.pagesPerSecond.toFixed(1)} a second`,
    `queue   ${count(queued)} waiting, ${count(openRequests)} open`,
    `left    ${leftText(progress)}`,
  ];
}

/** Shows the reason of one host; if DNS or the network fails, all hosts have the same reason. */
function waitsText({ hostsAwaitingRobots: waits, robotsWaitReason: why }: Progress): string {
  if (why === 'dns') return `${count(waits)} waiting for robots.txt: dns, no address for the name`;
  const reason = why === undefined ? '' : `: ${cut(printable(why), reasonLengthMax)}`;
  return `${count(waits)} waiting for robots.txt${reason}`;
}

function leftText({ paused, etaMs }: Progress): string {
  if (paused) return 'paused, until `ubiring resume CONFIG`';
  return etaMs === null ? 'not known yet' : `about ${durationText(etaMs)}`;
}

export function progressLine(progress: Progress): string {
  const { alive, total, hosts, pages, queued, etaMs, paused } = progress;
  const waits = progress.hostsAwaitingRobots;
  const why = waits > 0 ? ` (${waitsText(progress)})` : '';
  const left = etaMs === null ? '' : `, about ${durationText(etaMs)} left`;
  const eta = paused ? `, ${leftText(progress)}` : left;
  return (
    `agents ${alive}/${total}, hosts ${count(hosts)}${why}, pages ${count(pages)} ` +
    `(${progress.pagesPerSecond.toFixed(1)}/s), queue ${count(queued)}${eta}`
  );
}
