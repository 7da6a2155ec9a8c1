import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TopFrame } from '../../../../agent/cli/top/top-frame.ts';
import { START, type TopChoice } from '../../../../agent/cli/top/top-keys.ts';
import { TOP, viewLines } from '../../../../agent/cli/top/top-view.ts';
import { agentStatus } from '../agent-status.ts';
import { networksStatus } from '../networks-status.ts';
import { frameOf } from './frame.ts';

const a1 = agentStatus({
  ...{ id: 'a1', hosts: 19, hostsWithQueue: 12, queued: 507, pages: 94_320, pagesPerSecond: 20.8 },
  ...{ openRequests: 13, threads: 16, copyLag: 3, unsettled: 2, outbox: 21, loopDelayMs: 38 },
  ...{ rssBytes: 264_000_000, uptimeMs: 125_000 },
  recent: [{ kind: 'join', ageMs: 120_000, detail: { agent: 'a1', members: 3, tookMs: 1423 } }],
});
const a2 = agentStatus({
  ...{ id: 'a2', hosts: 21, hostsWithQueue: 9, queued: 1204, pages: 1_204_000 },
  ...{ pagesPerSecond: 10.4, openRequests: 2, threads: 16, loopDelayMs: 141, rssBytes: 3e8 },
  ...{ uptimeMs: 124_000, paused: true },
  recent: [
    { kind: 'suspect', ageMs: 12_000, detail: { agent: 'a3', silentMs: 5019 } },
    { kind: 'takeover', ageMs: 9400, detail: { from: 'a3', hosts: 4, tookMs: 5120 } },
  ],
});
const problem = {
  text: 'a3 does not answer',
  remedy: 'if it does not run, start it: ubiring agent crawl.yaml --id a3',
  place: 'agents',
};
const frame = frameOf([a1, a2], {
  cluster: { agents: [a1, a2], unreachable: ['a3'] },
  problems: [problem],
  failures: [
    ['4xx', 1200],
    ['dns', 7],
  ],
});

function drawn(
  { columns = 80, rows = 24, notice = '' } = {},
  choice: Partial<TopChoice> = {},
  what: TopFrame = frame,
): string[] {
  const shown = { choice: { ...START, ...choice }, size: { columns, rows }, notice, caption: TOP };
  const lines = viewLines(what, shown);
  return lines.map(({ text, beside = '' }) => `${text}${beside}`.trimEnd());
}

test('top: at 80 columns', () => {
  assert.equal(
    `\n${drawn().join('\n')}\n`,
    `
ubiring top  example                                2 of 3 agents, up 2 min 05 s
pages 1,298,320   queue 1,711   hosts 40, 21 with work   open 15
pages/s 31.2    ▁▁▁▁▁▁▁▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇████████

agent  state      hosts  queue   pages  pages/s             lag    loop   memory
a1     crawling      19    507  94,320     20.8  ▁▂▃▄▅▆▇██    3   38 ms  251 MiB
a2     paused        21  1,204    1.2M     10.4  ▁▁▂▂▃▃▄▄▄    0  141 ms  286 MiB
a3     no answer
all                  40  1,711    1.3M     31.2               3  141 ms  537 MiB

problems  1
  a3 does not answer
    if it does not run, start it: ubiring agent crawl.yaml --id a3

events
  9.4 s ago  a2  took over 4 hosts of a3, 5.1 s after its last news
   12 s ago  a2  removed a3 after 5 s without news
  2 min ago  a1  joined 3 agents in 1.4 s

errors  4xx 1,200  dns 7
h help  p pause or resume  / filter  o dashboard  q quit
`,
  );
});

test('top: at 200 columns, problems and events are side by side, and the table has more columns', () => {
  assert.equal(
    `\n${drawn({ columns: 200, rows: 17 }).join('\n')}\n`,
    `
ubiring top  example                                                                                                                                                        2 of 3 agents, up 2 min 05 s
pages 1,298,320   queue 1,711   hosts 40, 21 with work   open 15
pages/s 31.2    ▁▁▁▁▁▁▁▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇████████

agent  state      hosts  queue   open   pages  pages/s                                                                lag  unsettled  outbox    loop   memory          up
a1     crawling      19    507  13/16  94,320     20.8  ▁▁▁▁▁▁▁▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇████████    3          2      21   38 ms  251 MiB  2 min 05 s
a2     paused        21  1,204   2/16    1.2M     10.4  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄    0          0       0  141 ms  286 MiB  2 min 04 s
a3     no answer
all                  40  1,711  15/32    1.3M     31.2                                                                  3          2      21  141 ms  537 MiB  2 min 05 s

problems  1                                                                                          events
  a3 does not answer                                                                                   9.4 s ago  a2  took over 4 hosts of a3, 5.1 s after its last news
    if it does not run, start it: ubiring agent crawl.yaml --id a3                                      12 s ago  a2  removed a3 after 5 s without news
                                                                                                       2 min ago  a1  joined 3 agents in 1.4 s

errors  4xx 1,200  dns 7
h help  p pause or resume  / filter  o dashboard  q quit
`,
  );
});

test('top: is never larger than the terminal', () => {
  const many = Array.from({ length: 30 }, (_, k) => agentStatus({ ...a1, id: `a${k + 1}` }));
  const problems = Array.from({ length: 9 }, () => problem);
  const crowded = frameOf(many, { problems });
  for (const what of [frame, crowded, frameOf([])]) {
    for (const columns of [20, 60, 80, 119, 120, 200]) {
      for (const rows of [6, 10, 16, 24, 50]) {
        const lines = drawn({ columns, rows }, {}, what);
        assert.ok(lines.length <= rows, `${columns} x ${rows}`);
        assert.ok(lines.every((line) => line.length <= columns));
      }
    }
  }
});

test('top: counts the agents for which there is no room, and keeps room for a problem', () => {
  const many = Array.from({ length: 30 }, (_, k) => agentStatus({ ...a1, id: `a${k + 1}` }));
  const text = drawn({}, {}, frameOf(many, { problems: [problem] })).join('\n');
  assert.match(text, /^a7 .*\n23 more: \/ filters\nall +570 /m);
  assert.match(text, /^problems {2}1\n {2}a3 does not answer\n {4}if it does not run/m);
  assert.match(text, /^events\n.*a10, a11 and 27 others {2}met a1$/m);
});

test('top: wraps a long remedy, since its end may be what to type', () => {
  const remedy = `if it does not run, start it: ubiring agent ${'x'.repeat(40)} --id a3`;
  const text = drawn({}, {}, { ...frame, problems: [{ ...problem, remedy }] }).join('\n');
  assert.match(text, /^ {4}if it does not run, start it: ubiring agent\n {4}x{40} --id a3$/m);
});

test('top: a filter keeps the agents, problems and events with its text', () => {
  const ofA2 = drawn({}, { filter: 'A2' }).join('\n');
  assert.match(ofA2, /^a2 /m);
  assert.doesNotMatch(ofA2, /^(a1|a3|all) |joined/m);
  assert.match(ofA2, /problems {2}none; 1 without this text[\s\S]*removed a3/);
  assert.match(ofA2, /\nfilter: A2; Esc shows all$/);
  const ofA3 = drawn({}, { filter: 'a3' }).join('\n');
  assert.match(ofA3, /^a3 {5}no answer$[\s\S]*^problems {2}1$[\s\S]*took over 4 hosts of a3/m);
  assert.match(drawn({}, { filter: 'x', isTyping: true }).at(-1)!, /^filter: x▏/);
  const ofNone = drawn({}, { filter: 'x9' }).at(-1);
  assert.equal(ofNone, 'filter: x9; no agent has it in its name; Esc shows all');
});

test('top: a filter that names a host shows its owner', () => {
  const lines = drawn({}, { filter: 'www.example.org' });
  assert.match(lines.join('\n'), /^a2 /m);
  assert.doesNotMatch(lines.join('\n'), /^a1 /m);
  assert.equal(lines.at(-1), 'filter: www.example.org; a2 owns www.example.org; Esc shows all');
});

test('top: shows the help, and the result of a key in the last line', () => {
  const help = drawn({}, { isHelp: true }).join('\n');
  assert.match(help, /^p +stops requests of all agents, or resumes them$/m);
  assert.doesNotMatch(help, /^a1 /m);
  assert.equal(drawn({ notice: 'pause: applied\u001b[2J' }).at(-1), 'pause: applied�[2J');
});

test('top: texts of other agents and of the web cannot control the terminal', () => {
  const evil = '\u001b[2J\u0007';
  const hostile = agentStatus({
    ...{ id: `a${evil}`, lifecycle: evil as never },
    recent: [{ kind: 'trap', ageMs: 1, detail: { host: evil, stale: 1 } }],
  });
  const more = { crawl: evil, cluster: { agents: [hostile], unreachable: [evil] } };
  const text = drawn({}, {}, frameOf([hostile], { ...more, failures: [[evil, 1]] })).join('');
  assert.doesNotMatch(text, /\p{Cc}/u);
  assert.equal(text.split('�[2J�').length - 1, 7);
});

test('top: says that a complete network waits for others', () => {
  const networks = networksStatus({ awaited: ['paris'] });
  const [, facts] = drawn({}, {}, frameOf([agentStatus({ pages: 7, networks })]));
  assert.match(facts!, /^pages 7 {3}queue 0 .*open 0 {3}complete, waits for paris$/);
});
