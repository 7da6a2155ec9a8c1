import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answererOf, type CheckSettings } from '../../../../agent/cli/check/check-answers.ts';
import { answerTo } from '../../../../agent/cli/check/check-command.ts';
import { ask, settings } from './check-answers-stage.ts';

test('check robots: gives the verdict, its rule, the delay and the sitemaps', async () => {
  const robots = 'User-agent: mybot\nCrawl-delay: 2\nDisallow: /x\nSitemap: /s.xml';
  const url = 'https://h:8443/x/y';
  assert.deepEqual(await ask('robots', { robots, agent: 'MyBot/2', url }), {
    allowed: false,
    crawlDelayMs: 2000,
    rule: 'Disallow: /x',
    sitemaps: ['https://h:8443/s.xml'],
  });
  const robots_b64 = Buffer.from(`\ufeff${robots}`).toString('base64');
  assert.deepEqual(
    await ask('robots', { robots_b64, agent: 'MyBot/2', url }),
    await ask('robots', { robots, url }),
  );
  assert.deepEqual(await ask('robots', { robots, agent: 'other', url: 'http://h/x' }), {
    allowed: true,
    crawlDelayMs: null,
    rule: null,
    sitemaps: ['http://h/s.xml'],
  });
});

test('check url: gives the identity, or the reason why there is none', async () => {
  const base = 'http://h/d/e';
  assert.deepEqual(await ask('url', { in: '../%7e?b#c', base }), {
    url: 'http://h/~?b',
    reason: null,
  });
  assert.deepEqual(await ask('url', { in: 'mailto:a@b' }), { url: null, reason: 'scheme' });
  assert.deepEqual(await ask('url', { in: 'x' }), { url: null, reason: 'syntax' });
  assert.deepEqual(await ask('url', { in: 'http://a..b/', base: '' }), {
    url: null,
    reason: 'host',
  });
  const urls = { ...settings.urls, dropSessions: true };
  assert.deepEqual(await ask('url', { in: 'http://h/;jsessionid=1?a' }, { urls }), {
    url: 'http://h/?a',
    reason: null,
  });
});

test('check links: lists each link once, in document order, as it would be requested', async () => {
  const html = '<base href=/b/><a href=2?ß><a href="/%7e"><a href="2?ß#x"><a href=1 rel=nofollow>';
  const answer = {
    links: ['http://h/b/2?%C3%9F', 'http://h/%7e'],
    charset: 'utf-8',
    base: 'http://h/b/',
    refresh: null,
    nofollow: false,
    noindex: false,
  };
  assert.deepEqual(await ask('links', { html, base: 'http://h/' }), answer);
  const html_b64 = Buffer.from(html, 'latin1').toString('base64');
  assert.deepEqual(await ask('links', { html_b64, base: 'http://h/' }), {
    ...answer,
    charset: 'windows-1252',
    links: ['http://h/b/2?%DF', 'http://h/%7e'],
  });
});

test('check links: applies the directives of page and header by agent name', async () => {
  const question = { html: '<meta name=mybot content=noindex><a href=x>', base: 'http://h/' };
  const flags = async (more: object, rest?: Partial<CheckSettings>) => {
    const said = (await ask('links', { ...question, ...more }, rest)) as Record<string, unknown>;
    return [said.noindex, said.nofollow, (said.links as string[]).length];
  };
  assert.deepEqual(await flags({}), [true, false, 1]);
  assert.deepEqual(await flags({ agent: 'other' }), [false, false, 1]);
  assert.deepEqual(await flags({ xRobotsTag: ['a: none', 'nofollow'] }), [true, false, 1]);
  assert.deepEqual(await flags({ xRobotsTag: ['nofollow', 'a: none'] }), [true, true, 0]);
});

test('check links: includes embeds if the config or the question asks for them', async () => {
  const question = { html: '<img src=x>', base: 'http://h/' };
  const links = async (...args: [object, Partial<CheckSettings>?]) =>
    ((await ask('links', ...args)) as { links: string[] }).links.length;
  assert.equal(await links(question), 0);
  assert.equal(await links({ ...question, embeds: true }), 1);
  assert.equal(await links(question, { embeds: true }), 1);
});

test('check address: judges literals, local names, and names by their addresses', async () => {
  const blocked = async (question: object, rest?: Partial<CheckSettings>) =>
    ((await ask('address', question, rest)) as { blocked: boolean }).blocked;
  assert.deepEqual(await ask('address', { input: '127.1' }), { blocked: true, reason: 'loopback' });
  assert.deepEqual(await ask('address', { input: 'h.example' }), { blocked: false, reason: null });
  assert.equal(await blocked({ input: 'h.example', addresses: ['::ffff:10.0.0.1'] }), true);
  assert.equal(await blocked({ input: 'localhost' }), true);
  assert.equal(await blocked({ input: 'localhost' }, { allowPrivate: true }), false);
  assert.equal(await blocked({ input: '224.0.0.1' }, { allowPrivate: true }), true);
});

test('check: answers every malformed question with an error', async () => {
  for (const subject of ['robots', 'url', 'links', 'address'] as const) {
    const answerer = answererOf(subject, settings);
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      '1',
      '{}',
      '{"in":1,"input":1}',
      '\xff',
      '{"base":[]}',
    ]) {
      const answer = await answerTo(Buffer.from(text), answerer);
      assert.deepEqual(Object.keys(answer), ['error'], `${subject} ${text}`);
    }
    assert.deepEqual(Object.keys(await answerTo(null, answerer)), ['error']);
  }
  const bad = await ask('links', { html_b64: '*', base: '' });
  assert.match((bad as { error: string }).error, /html_b64/);
});
