import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOfError } from '../../../../agent/cli/common/exit-code.ts';
import {
  type AgentExit,
  exitOf,
  interruptionText,
  verdictOf,
} from '../../../../agent/cli/launch/agent-exits.ts';

const complete: AgentExit = { kind: 'complete' };
const left: AgentExit = { kind: 'left', reason: '' };
const interrupted: AgentExit = { kind: 'interrupted' };
const killed: AgentExit = { kind: 'killed', signal: 'SIGKILL' };
const failed = (code: 1 | 3 | 4 | 5): AgentExit => ({ kind: 'failed', code, reason: '' });
const ended = { type: 'ended', code: 11, reason: 'r', logged: true } as const;

test('launch: exits with 0 exactly when the crawl is complete, even if agents died', () => {
  assert.equal(verdictOf([killed, failed(3), left, complete], false), 0);
  assert.equal(verdictOf([complete, complete], true), 0);
});

test('launch: exits with 11 if no agent is left or all were stopped', () => {
  assert.equal(verdictOf([killed, killed], false), 11);
  assert.equal(verdictOf([left, killed], false), 11);
  assert.equal(verdictOf([interrupted, interrupted], false), 11);
  assert.equal(verdictOf([failed(1), interrupted], true), 11);
  assert.equal(
    verdictOf([killed, exitOf({ ...ended, endKind: 'unfinished' }, 11, null)], false),
    11,
  );
});

test('launch: agents that all ended without work do not tell to launch them again', () => {
  const unfinished = exitOf({ ...ended, endKind: 'unfinished' }, 11, null);
  const text = 'the crawl is not complete; start the agents named above';
  assert.equal(interruptionText([unfinished, unfinished]), text);
  assert.match(interruptionText([unfinished, interrupted]), /^interrupted; run launch again/);
});

test('launch: otherwise exits with the code of the first failure', () => {
  assert.equal(verdictOf([killed, failed(3), failed(5), left], false), 3);
});

test('launch: judges an agent without a last message by its signal or exit code', () => {
  assert.deepEqual(exitOf(null, null, 'SIGKILL'), killed);
  assert.equal(exitOf(null, 1, null).kind, 'failed');
  assert.equal(exitOf(null, 11, null).kind, 'interrupted');
});

test('launch: counts a crash as a failure, since it would recur in the next launch', () => {
  const crashed = exitOf(null, null, 'SIGABRT');
  assert.deepEqual(crashed, { kind: 'crashed', signal: 'SIGABRT' });
  assert.equal(verdictOf([crashed, crashed], false), 1);
  assert.equal(verdictOf([killed, crashed], false), 1);
  assert.equal(verdictOf([crashed, complete], false), 0);
  assert.equal(verdictOf([crashed, interrupted], true), 11);
});

test('launch: a graceful leave is no completion, though both exit with 0', () => {
  const last = { type: 'ended', code: 0, reason: 'r', logged: true } as const;
  assert.equal(exitOf({ ...last, endKind: 'left' }, 0, null).kind, 'left');
  assert.equal(exitOf({ ...last, endKind: 'complete' }, 0, null).kind, 'complete');
});

test('exit codes: detects a full disk at any depth of causes', () => {
  const full = Object.assign(new Error('disk'), { code: 'SQLITE_FULL' });
  assert.equal(codeOfError(full), 3);
  assert.equal(codeOfError(new Error('outer', { cause: new Error('mid', { cause: full }) })), 3);
  assert.equal(codeOfError(new Error('other')), 1);
  const circle = new Error('circle');
  circle.cause = circle;
  assert.equal(codeOfError(circle), 1);
});
