// The programs and files of others that the slow suites need, and functions to run them. A
// developer's machine may lack them, a build machine must have them.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';

/** A program that a suite needs: how to detect it, and which package contains it. */
export interface Need {
  readonly name: string;
  /** A command that exits with 0 if it is present, or a path that then exists. */
  readonly check: readonly string[] | string;
  readonly debianPackage: string;
}

/** Debian's own Python, because another one on the PATH does not see the packages of the system. */
export const python = '/usr/bin/python3';

/**
 * Whether all needs are met. If not, the test is skipped, or fails on a build machine (`CI` is
 * set), because a suite that silently stops running there proves nothing.
 */
export function has(t: TestContext, needs: readonly Need[]): boolean {
  const missing = needs.filter(({ check }) => !isHere(check));
  if (missing.length === 0) return true;
  const names = missing.map(({ name }) => name).join(', ');
  const packages = missing.map(({ debianPackage }) => debianPackage).join(' ');
  const message = `not here: ${names}; on Debian: apt-get install ${packages}`;
  if (process.env.CI) throw new Error(message);
  t.skip(message);
  return false;
}

function isHere(check: Need['check']): boolean {
  if (typeof check === 'string') return existsSync(check);
  const [program, ...args] = check;
  return spawnSync(program!, args, { stdio: 'ignore' }).status === 0;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. After `limitMs` it is killed, and its code is null. */
export function finish(
  program: string,
  args: readonly string[],
  limitMs: number,
): Promise<Finished> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(limit);
      resolve({ code, ...said });
    });
  });
}

/** Starts a program that runs until the end of the test. */
export function serve(t: TestContext, program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { stdio: 'ignore' });
  const gone = new Promise((resolve) => child.once('close', resolve));
  t.after(async () => {
    child.kill('SIGTERM');
    await gone;
  });
  return child;
}
