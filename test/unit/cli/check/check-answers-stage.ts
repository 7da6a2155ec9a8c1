// The set-up that `check-answers.test.ts` and `slow/check-answers.test.ts` share.

import { answererOf, type CheckSettings } from '../../../../agent/cli/check/check-answers.ts';
import { answerTo } from '../../../../agent/cli/check/check-command.ts';
import type { Subject } from '../../../../agent/cli/check/check-subjects.ts';

export const settings: CheckSettings = {
  userAgent: 'mybot (+http://h/)',
  urls: { dropParameters: [], dropTracking: false, dropSessions: false },
  embeds: false,
  allowPrivate: false,
  resolve: false,
};

export function ask(subject: Subject, question: object, rest: Partial<CheckSettings> = {}) {
  const answerer = answererOf(subject, { ...settings, ...rest });
  return answerTo(Buffer.from(JSON.stringify(question)), answerer);
}
