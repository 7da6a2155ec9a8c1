// The HTML of a synthetic page: links in many spellings and elements, text that only looks like
// links, and filler up to the page's size, in the page's encoding. It is computed for each request
// from the numbers of the host and the page.
import { draw, drawOne, drawShare, topic } from './draw.ts';
import type { SyntheticWeb } from './model.ts';
import { type Site, spell, tag } from './spelling.ts';
import { type Charset, charsets, paragraph, wordsOf } from './words.ts';

export interface Html {
  readonly contentType: string;
  readonly body: Buffer;
}

/** Sizes of bodies as multiples of the mean. Their own mean is 1. */
const bodySizes = [0.25, 0.5, 0.75, 1, 1, 2.5] as const;

/** A whole page from the contents of head and body, both with one character per byte. */
function page(head: string, body: string, contentType: string): Html {
  const html = `<!DOCTYPE html>\n<html><head>${head}</head>\n<body>\n${body}</body></html>\n`;
  return { contentType, body: Buffer.from(html, 'latin1') };
}

/** An ASCII page with only `body` and, in its head, `head`. */
export function smallPage(body: string, head = ''): Html {
  return page(head, body, 'text/html; charset=utf-8');
}

/** A page with one frame. Frames are allowed only in a frameset, which replaces the body. */
export function framePage(path: string, number: number): Html {
  const html = `<html><head></head><frameset>${tag('frame', 'src', path, number)}</frameset></html>`;
  return { contentType: 'text/html; charset=utf-8', body: Buffer.from(html, 'latin1') };
}

/** Page `k` of host `i`. */
export function pageHtml(web: SyntheticWeb, i: number, k: number): Html {
  const { seed, shares, bodyBytes } = web.options;
  const foreign = drawShare(seed, topic.charset, i, k) < shares.charset;
  const charset: Charset = foreign ? drawOne(charsets, seed, topic.charset, i, k, 1) : 'utf-8';
  const based = drawShare(seed, topic.base, i, k) < shares.base;
  const basePath = based ? `/deep/er${k % 5}/` : web.path(i, k);
  const { contentType, head } = declaration(web, i, k, charset, based ? basePath : null);
  const links = linkMarkup(web, i, k, { web, host: i, basePath });
  const decoys = based ? '' : '<a href="#top">to the top</a><a href="">this page</a>\n';
  const unit = paragraph(charset, draw(seed, topic.words, i, k) % 16);
  const size = bodyBytes * drawOne(bodySizes, seed, topic.bodySize, i, k);
  const wanting = size - head.length - links.length - decoys.length - noLinks.length;
  const paragraphs = unit.repeat(Math.max(1, Math.round(wanting / unit.length)));
  return page(head, `${noLinks}${decoys}${links}${paragraphs}`, contentType);
}

/** The head of a page: its encoding, its robots rules, its title and its base. */
function declaration(
  web: SyntheticWeb,
  i: number,
  k: number,
  charset: Charset,
  basePath: string | null,
): { contentType: string; head: string } {
  const { seed, shares } = web.options;
  const place = draw(seed, topic.declaration, i, k) % 3;
  const contentType = place === 0 ? `text/html; charset=${charset}` : 'text/html';
  let head = '';
  if (place === 1) head += `<meta charset="${charset}">`;
  if (place === 2) {
    head += `<meta http-equiv="Content-Type" content="text/html; charset=${charset}">`;
  }
  head += `<title>Page ${k} of host ${i} ${wordsOf(charset)[k % 4]}</title>`;
  if (web.kind(i, k) === 'nofollow') head += '<meta name="robots" content="nofollow">';
  else if (drawShare(seed, topic.noindex, i, k) < shares.noindex) {
    head += '<META NAME="ROBOTS" CONTENT="noindex, follow">';
  }
  if (basePath !== null) {
    const whole = draw(seed, topic.base, i, k) % 2 === 0;
    head += `<base href="${whole ? web.origin(i) : ''}${basePath}">`;
  }
  return { contentType, head };
}

/** Text that only a careless parser takes for links. The server serves nothing at these paths. */
const noLinks = [
  '<!-- <a href="/ghost/comment.html">old</a> -->',
  '<script>document.write(\'<a href="/ghost/script.html">x</a>\');</script>',
  '<style>a { background: url("/ghost/style.png") }</style>',
  '<a name="top">top</a><a href="mailto:nobody@example.org">mail</a>',
  '<a href="javascript:void(0)">nothing</a><a data-href="/ghost/attribute.html">x</a>',
  '<textarea><a href="/ghost/textarea.html">x</a></textarea>\n',
].join('\n');

function linkMarkup(web: SyntheticWeb, i: number, k: number, site: Site): string {
  const { seed } = web.options;
  let markup = '';
  for (const [n, link] of web.links(i, k).entries()) {
    const number = draw(seed, topic.spelling, i, k, n);
    const value = spell(link, site, number);
    if (link.nofollow && web.kind(i, k) !== 'nofollow') {
      markup += `${tag('a rel="external nofollow"', 'href', value, number)}not this</a>\n`;
      continue;
    }
    const element = draw(seed, topic.element, i, k, n);
    switch (element % 12) {
      case 0:
        markup += `<map name="m">${tag('area shape="rect"', 'href', value, element >>> 4)}</map>\n`;
        break;
      case 1:
        markup += `${tag('link rel="next"', 'href', value, element >>> 4)}\n`;
        break;
      case 2:
        markup += `${tag('iframe', 'src', value, element >>> 4)}</iframe>\n`;
        break;
      default:
        markup += `<div>${tag('a', 'href', value, element >>> 4)}<b>no. ${n}</b></a></div>\n`;
    }
  }
  return markup;
}
