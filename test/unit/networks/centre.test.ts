import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { Centre } from '../../../agent/networks/centre.ts';
import type { Entry, Frame, Pools, VerdictFrame } from '../../../agent/networks/pools.ts';

const settings = {
  ...{ network: 'a', networks: ['a', 'b'], seeds: 1, batch: 10 },
  ...{ onTimeout: 'proceed' as const, timeoutMs: 500, leaseMs: 6000 },
};
const COMMANDS_OF_A_STEP = 10;
const base = { network: 'a', origin: 'a-1', relay: 'a', sender: 'a-1.1' };

function question(number: string, ...digests: string[]): Frame {
  return { ...base, number, flag: 1, digests };
}

/** A centre with the pools of its network and of network b, and what it does there, by time. */
function subject(
  marksOfB: () => string | null,
  mayLead: () => boolean = () => true,
  isWanted: () => boolean = () => true,
) {
  const submitted: Entry[] = [];
  const inbox: Frame[] = [];
  const verdicts: (VerdictFrame & { at: number })[] = [];
  const commands: string[] = [];
  const errors: string[] = [];
  const holder = { token: 'x.y.17' };
  let mono = 0;
  const answered = async <T>(name: string, result: T) => {
    commands.push(name);
    await immediately();
    commands.push(`${name} answered`);
    return result;
  };
  const own: Partial<Pools> = {
    presence: async () => ({ hasCentre: true, centre: holder.token, mark: '' }),
    lead: async () => mayLead(),
    resign: () => answered('resign', undefined),
    openFrames: async () => [],
    filledBy: () => answered('filled', null),
    marksOf: (digests) => answered('marks', '0'.repeat(digests.length)),
    take: () => {
      const found = { submitted: [...submitted], inbox: inbox.splice(0) };
      return answered('take', found);
    },
    claim: (_, entry) => {
      submitted.splice(submitted.indexOf(entry), 1);
      return answered('claim', '0'.repeat(entry.frame.digests.length));
    },
    settle: (_token, _origin, verdict) => {
      verdicts.push({ ...verdict, at: mono });
      return answered('settle', true);
    },
  };
  const other: Partial<Pools> = {
    ask: async () => {},
    presence: async () => ({ hasCentre: true, mark: '' }),
    marksOf: async (digests) => marksOfB()?.repeat(digests.length) ?? null,
    lapse: (digests) => answered(`lapse ${digests.join()}`, true),
  };
  const centre = new Centre({
    ...{ settings, agent: 'a-1', token: 'a-1.1', wake: () => {}, isWanted },
    pools: new Map(Object.entries({ a: own as Pools, b: other as Pools })),
    members: () => ({ agents: ['a-1', 'a-2'], isPartial: false }),
    now: () => ({ mono, wall: mono }),
    settled: () => {},
    sha256: (text) => createHash('sha256').update(text).digest('base64url'),
    onError: (error) => void errors.push(String(error)),
  });
  const runUntil = async (ms: number) => {
    for (; mono < ms; mono += 50) {
      centre.pump({ mono, wall: mono });
      for (let i = 0; i < COMMANDS_OF_A_STEP; i++) await immediately();
    }
  };
  const absent = () => centre.absent({ mono, wall: mono });
  return {
    centre,
    own,
    submitted,
    inbox,
    verdicts,
    commands,
    errors,
    holder,
    other,
    absent,
    runUntil,
  };
}

it('centre: at its beginning it awaits a network that has answered nothing, longer than timeoutMs', async () => {
  const { submitted, verdicts, runUntil } = subject(() => null);
  submitted.push({ id: '1-0', frame: question('a/1', 'x') });
  await runUntil(settings.leaseMs / 3);
  assert.equal(verdicts.length, 0);
  await runUntil(settings.leaseMs / 2);
  assert.deepEqual(
    verdicts.map(({ isPartial }) => isPartial),
    [true],
  );
  submitted.push({ id: '2-0', frame: question('a/2', 'y') });
  await runUntil(settings.leaseMs / 2 + 3 * settings.timeoutMs);
  assert.equal(verdicts.length, 2);
});

it('centre: at another server process it takes its role again, and sees who has filled the pools', async () => {
  let leads = 0;
  const { centre, own, runUntil } = subject(
    () => '0',
    () => ++leads > 0,
  );
  let filled = 0;
  own.setFilled = async () => void filled++;
  await runUntil(200);
  own.filledBy = async () => ['a-1', 'a-2'];
  await runUntil(400);
  assert.deepEqual([leads, filled], [1, 0]);
  centre.serverChanged();
  await runUntil(500);
  assert.deepEqual([leads, filled], [2, 1]);
});

it('centre: a network that has answered is awaited for timeoutMs', async () => {
  let isFilled = true;
  const { submitted, verdicts, runUntil } = subject(() => (isFilled ? 'f' : null));
  submitted.push({ id: '1-0', frame: question('a/1', 'x') });
  await runUntil(800);
  assert.deepEqual([verdicts.length, verdicts[0]!.owners], [1, ['b']]);
  isFilled = false;
  submitted.push({ id: '2-0', frame: question('a/2', 'y') });
  await runUntil(1600);
  assert.deepEqual(
    verdicts.map(({ isPartial }) => isPartial),
    [false, true],
  );
});

it('centre: before a partial verdict, the claims of the network that has not answered lapse', async () => {
  let isAway = false;
  const { submitted, verdicts, commands, errors, other, runUntil } = subject(() => null);
  const lapse = other.lapse!;
  other.lapse = (digests) => (isAway ? Promise.reject(new Error('refused')) : lapse(digests));
  submitted.push({ id: '1-0', frame: question('a/1', 'x', 'y') });
  await runUntil(settings.leaseMs / 2);
  const told = commands.filter((name) => /^(lapse|settle)/.test(name));
  assert.deepEqual(told.slice(0, 3), ['lapse x,y', 'lapse x,y answered', 'settle']);
  // Its Redis is away, and the verdict is not delayed.
  isAway = true;
  submitted.push({ id: '2-0', frame: question('a/2', 'z') });
  await runUntil(settings.leaseMs / 2 + 3 * settings.timeoutMs);
  assert.equal(verdicts.length, 2);
  assert.deepEqual(errors, ['Error: refused']);
});

it('centre: frames of a round share round trips, except those with a digest in common', async () => {
  const { submitted, inbox, verdicts, commands, runUntil } = subject(() => '0');
  for (const [i, digests] of [['x'], ['y'], ['x', 'z']].entries()) {
    submitted.push({ id: `${i}-0`, frame: question(`a/${i}`, ...digests) });
  }
  const from = { network: 'b', origin: 'b-1', relay: 'b', sender: 'b-1.1', seeds: 1 };
  for (const number of ['b/1', 'b/2']) {
    inbox.push({ ...from, number, flag: 2, digests: [`only ${number}`] });
  }
  await runUntil(50);
  assert.deepEqual(commands, [
    ...['take', 'filled', 'take answered', 'filled answered'],
    ...['marks', 'marks', 'marks answered', 'marks answered'],
    ...['claim', 'claim', 'claim answered', 'claim answered'],
  ]);
  await runUntil(1200);
  assert.deepEqual(verdicts.map(({ number }) => number).sort(), ['a/0', 'a/1', 'a/2']);
  const settling = commands.indexOf('settle');
  assert.deepEqual(commands.slice(settling - 1, settling + 2), ['take', 'settle', 'settle']);
});

it('centre: it looks more often while looks find several frames, and as often if they find one', async () => {
  const { inbox, commands, runUntil } = subject(() => '0');
  const from = { network: 'b', origin: 'b-1', relay: 'b', sender: 'b-1.1', seeds: 1 };
  let number = 0;
  const looksIn = async (ms: number, framesOfALook: number) => {
    const before = commands.length;
    for (let passed = 0; passed < ms; passed += 50) {
      while (inbox.length < framesOfALook) {
        inbox.push({ ...from, number: `b/${++number}`, flag: 2, digests: ['x'] });
      }
      at += 50;
      await runUntil(at);
    }
    return commands.slice(before).filter((name) => name === 'take').length;
  };
  let at = 3000;
  await runUntil(at);
  const rare = await looksIn(3000, 1);
  assert.equal(await looksIn(3000, 1), rare);
  await looksIn(3000, 2);
  const often = await looksIn(3000, 2);
  assert.ok(often > 1.3 * rare, `${often} and ${rare} looks`);
});

it('centre: an agent which is no member has the role for two leases, which is reported', async () => {
  let isDouble = true;
  const { errors, holder, runUntil } = subject(
    () => null,
    () => !isDouble,
  );
  await runUntil(2 * settings.leaseMs);
  assert.deepEqual(errors, []);
  await runUntil(2 * settings.leaseMs + 1000);
  assert.match(errors[0]!, /no member of this cluster is its centre; give each cluster a 'dedup.n/);
  errors.length = 0;
  holder.token = 'a-1.99';
  await runUntil(2 * settings.leaseMs + 2000);
  assert.match(errors[0]!, /no member/, 'the same identifier in another cluster');
  await runUntil(2 * settings.leaseMs + 3000);
  errors.length = 0;
  holder.token = 'a-2.1';
  await runUntil(3 * settings.leaseMs);
  assert.deepEqual(errors, [], 'a member');
  holder.token = 'x.y.17';
  isDouble = false;
  await runUntil(5 * settings.leaseMs);
  isDouble = true;
  await runUntil(7 * settings.leaseMs);
  assert.deepEqual(errors, [], 'it had the role meanwhile');
});

it('centre: it names a network without centre', async () => {
  const { submitted, other, absent, runUntil } = subject(() => null);
  submitted.push({ id: '1-0', frame: question('a/1', 'x') });
  await runUntil(1000);
  assert.deepEqual(absent(), []);
  other.presence = async () => ({ hasCentre: false, mark: '' });
  await runUntil(1800);
  const [b] = absent();
  assert.equal(b?.network, 'b');
  assert.ok(b.forMs > 0 && b.forMs <= 800, String(b.forMs));
});

it('centre: it has resigned once Redis has confirmed that', async () => {
  let isWanted = true;
  const { centre, commands, runUntil } = subject(
    () => null,
    () => true,
    () => isWanted,
  );
  assert.equal(centre.hasResigned, true);
  await runUntil(1000);
  assert.equal(centre.hasResigned, false);
  isWanted = false;
  centre.kick();
  centre.pump({ mono: 1000, wall: 1000 });
  assert.deepEqual([centre.hasResigned, commands.includes('resign answered')], [false, false]);
  await runUntil(1050);
  assert.deepEqual([centre.hasResigned, commands.includes('resign answered')], [true, true]);
});

it('centre: it resigns again if Redis has not answered', async () => {
  let isWanted = true;
  const { centre, own, errors, runUntil } = subject(
    () => null,
    () => true,
    () => isWanted,
  );
  await runUntil(1000);
  isWanted = false;
  const resign = own.resign!;
  own.resign = async () => {
    own.resign = resign;
    throw new Error('late');
  };
  for (let ms = 1000; errors.length === 0; ms += 50) await runUntil(ms);
  assert.deepEqual([errors, centre.hasResigned], [['Error: late'], false]);
  await runUntil(4000);
  assert.equal(centre.hasResigned, true);
});
