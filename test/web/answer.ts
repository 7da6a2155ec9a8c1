// The answers of the synthetic web: status, headers and body as a function of the host, the target
// and the number of earlier answers. It uses no sockets, so tests can walk the whole web without a
// server.
import { draw, drawOne, topic } from './draw.ts';
import { framePage, type Html, pageHtml, smallPage } from './markup.ts';
import type { Place, SyntheticWeb } from './model.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Time that the server waits before it answers. */
  readonly waitMs: number;
}

const nothing = new Uint8Array(0);
/** The first bytes of a PNG, then zeros: enough to detect the type. */
const image = new Uint8Array(1_500);
image.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * The answer to GET `target` at host `i`. `earlier` is the number of earlier answers for this
 * target; only flaky pages depend on it.
 */
export function answerOf(web: SyntheticWeb, i: number, target: string, earlier: number): Answer {
  const place = web.place(i, target);
  if (place === null) return ofHtml(404, smallPage('Nothing is here.'));
  switch (place.kind) {
    case 'robots':
      return web.hasRobots(i)
        ? of(200, 'text/plain', Buffer.from(robotsText(web, i)))
        : ofHtml(404, smallPage('No rules.'));
    case 'page':
      return pageAnswer(web, i, place.page, earlier);
    case 'hop':
      return redirect(web, i, place, place.page);
    case 'door':
      return redirect(web, i, place, place.host);
    case 'refresh': {
      const number = draw(web.options.seed, topic.hop, i, place.page, 1);
      if (number % 3 === 0) return ofHtml(200, framePage(web.path(i, place.page), number));
      const content = `0; URL='${web.path(i, place.page).replaceAll('&', '&amp;')}'`;
      return ofHtml(200, smallPage('', `<meta http-equiv="Refresh" content="${content}">`));
    }
    case 'hidden':
      return ofHtml(200, smallPage('Only nofollow links lead here.'));
    case 'trap': {
      const next = `<a href="/trap/${place.month + 1}">next month</a>`;
      const week = `<a href="/trap/${place.month}?view=week">this week</a>`;
      return ofHtml(200, smallPage(next + week));
    }
    default:
      return assertNever(place);
  }
}

function pageAnswer(web: SyntheticWeb, i: number, k: number, earlier: number): Answer {
  const kind = web.kind(i, k);
  switch (kind) {
    case 'missing':
      return ofHtml(404, smallPage('It never was.'));
    case 'gone':
      return ofHtml(410, smallPage('It was.'));
    case 'broken':
      return ofHtml(500, smallPage('It breaks.'));
    case 'binary':
      return of(200, 'image/png', image);
    case 'flaky':
      if (earlier === 0) {
        const busy = ofHtml(503, smallPage('Busy.'));
        const retry = { 'retry-after': String(web.options.retryAfterS) };
        return { ...busy, headers: { ...busy.headers, ...retry } };
      }
      return ofHtml(200, pageHtml(web, i, k));
    case 'slow':
      return { ...ofHtml(200, pageHtml(web, i, k)), waitMs: web.options.slowMs };
    case 'plain':
    case 'private':
    case 'nofollow':
      return ofHtml(200, pageHtml(web, i, k));
    default:
      return assertNever(kind);
  }
}

const redirectStatuses = [301, 302, 307, 308] as const;

function redirect(web: SyntheticWeb, i: number, place: Place, about: number): Answer {
  const { seed } = web.options;
  const status = drawOne(redirectStatuses, seed, topic.redirectStatus, i, about);
  const here = place.kind === 'hop' ? web.path(i, about) : '/';
  const whole = place.kind === 'door' || draw(seed, topic.redirectStatus, i, about, 1) % 2 === 0;
  const origin = whole ? web.origin(place.kind === 'door' ? about : i) : '';
  return { status, headers: { location: origin + here }, body: nothing, waitMs: 0 };
}

/** All of them disallow /private/ for every agent, each in another form that RFC 9309 allows. */
const robotsTexts = [
  'User-agent: *\nDisallow: /private/\n',
  '# rules\r\n\r\nuser-agent: * # everyone\r\ndisallow:/private/\r\n',
  'User-agent: other\nDisallow: /\n\nUser-agent: *\nAllow: /private-not/\nDisallow: /private/\n',
  'User-agent: *\nAllow: /\nDisallow: /*ivate/p\n',
  '\uFEFFUser-agent: *\nDisallow:\nDisallow: /private/',
] as const;

function robotsText(web: SyntheticWeb, i: number): string {
  const text = drawOne(robotsTexts, web.options.seed, topic.robotsText, i);
  return web.options.trap === 'disallowed' ? `${text}\nDisallow: /trap/\n` : text;
}

function ofHtml(status: number, html: Html): Answer {
  return of(status, html.contentType, html.body);
}

function of(status: number, contentType: string, body: Uint8Array): Answer {
  return { status, headers: { 'content-type': contentType }, body, waitMs: 0 };
}

function assertNever(value: never): never {
  throw new Error(`not a place: ${JSON.stringify(value)}`);
}
