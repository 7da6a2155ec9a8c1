import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refreshTarget } from '../../../../agent/parse/page/meta-refresh.ts';
import { scanPage } from '../../../../agent/parse/page/page-scan.ts';
import { absent, independentCases } from '../../url/independent-cases.ts';

interface Probe {
  id: string;
  html: string;
  seen: boolean;
  foreign: boolean;
}
interface Meta {
  metaRefresh: { content?: string; rawUrl?: string | null }[];
  robotsMeta: { html?: string; directives?: string[]; noindex?: boolean; nofollow?: boolean }[];
}

const probes = independentCases<Probe[]>('html_probe.json');
const entities = independentCases<{ raw: string; decoded: string }[]>('html_attr_entities.json');
const meta = independentCases<Meta>('html_meta.json');

const hrefs = (html: string) => [...scanPage(html).hrefs];

test('scan: a, area, link, iframe and frame give links in document order', () => {
  assert.deepEqual(
    hrefs(
      '<link rel=next href=1><A HREF = "2">x<area href=\'3\'><iframe src=4></iframe><a href=5/>' +
        '<a name=x><img src=no><form action=no><a href="2">',
    ),
    ['1', '2', '3', '4', '5/'],
  );
  assert.deepEqual(hrefs('<frameset><frame src=1><frame src=2></frameset>'), ['1', '2']);
});

test('scan: only link elements that refer to pages give links', () => {
  const link = (attributes: string) => hrefs(`<link href=x ${attributes}>`).length;
  for (const rel of ['canonical', 'Alternate', '"nofoo prev"', 'index']) {
    assert.equal(link(`rel=${rel}`), 1, rel);
  }
  for (const rel of ['stylesheet', '"alternate stylesheet"', 'icon', 'preload', 'pingback', '""']) {
    assert.equal(link(`rel=${rel}`), 0, rel);
  }
  assert.equal(link(''), 0);
  assert.equal(link('rel=alternate type=application/rss+xml'), 0);
  assert.equal(link('rel=alternate type="text/html; charset=utf-8"'), 1);
});

test('scan: links with nofollow are dropped, unless another element links without it', () => {
  assert.deepEqual(
    hrefs('<a href=1 rel="x NoFollow"><a href=2 rel=follow><area href=3 rel=nofollow>'),
    ['2'],
  );
  assert.deepEqual(hrefs('<a href=1 rel=nofollow><a href=1>'), ['1']);
});

test('scan: a value above the length limit gives no link, however short it decodes', () => {
  const zeros = '0'.repeat(70_000);
  assert.deepEqual(hrefs(`<a href="/a&#${zeros}97;/real/path"><a href="/b?x=1&amp;y">`), [
    '/b?x=1&y',
  ]);
  assert.deepEqual(hrefs(`<a href="/a?x=${'&amp;'.repeat(14_000)}END">`), []);
});

test('scan: comments, scripts, styles and other raw text contain no links', () => {
  for (const [open, close] of [
    ['<!--', '-->'],
    ['<script>', '</script>'],
    ['<STYLE>', '</style >'],
    ['<textarea>', '</textarea>'],
    ['<title>', '</title>'],
    ['<xmp>', '</xmp>'],
    ['<noembed>', '</noembed>'],
    ['<iframe>', '</iframe>'],
    ['<template>', '</template>'],
    ['<select>', '</select>'],
  ]) {
    assert.deepEqual(hrefs(`${open}<a href=no>${close}<a href=yes>`), ['yes'], open);
  }
});

test('scan: noscript, declarative shadow roots and SVG contain links, MathML does not', () => {
  assert.deepEqual(hrefs('<noscript><a href=1></noscript>'), ['1']);
  assert.deepEqual(hrefs('<template shadowrootmode=open><a href=1></template>'), ['1']);
  assert.deepEqual(hrefs('<svg><script/><a xlink:href=1 /><a href=2 /></svg>'), ['1', '2']);
  assert.deepEqual(hrefs('<math><a href=1></a><mi><a href=2></mi></math>'), ['2']);
  assert.deepEqual(hrefs('<math><mo><mglyph><a href=1></a></mglyph><a href=2></mo></math>'), ['2']);
});

test('scan: decodes entities, NUL and white space in attributes', () => {
  assert.deepEqual(hrefs('<a href="?a=1&amp;b=2&copy=3&copy;&#x41;">'), ['?a=1&b=2&copy=3©A']);
  assert.deepEqual(hrefs('<a href=a\0b>'), ['a\ufffdb']);
  assert.deepEqual(hrefs('<a href=first href=second>'), ['first']);
  assert.deepEqual(hrefs('<a href="cut'), []);
});

test('scan: the first base with an href counts, wherever it is, but not in noscript', () => {
  assert.equal(scanPage('<base target=x><p><base href=1><base href=2>').base, '1');
  assert.equal(scanPage('<noscript><base href=1></noscript>').base, null);
  assert.equal(scanPage('<svg><script/></svg><!--<base href=1>-->').base, null);
});

test('scan: the first refresh with a target counts, and is a link', () => {
  const scan = scanPage(
    '<meta http-equiv=refresh content=5><META content="0;URL=a" HTTP-EQUIV=Refresh>' +
      '<meta http-equiv=refresh content="0;b">',
  );
  assert.equal(scan.refresh, 'a');
  assert.deepEqual([...scan.hrefs], ['a']);
});

test('scan: reads the robots directives of the page', () => {
  const said = (content: string) => {
    const { nofollow, noindex } = scanPage(`<meta name=Robots content="${content}">`).directives;
    return [nofollow, noindex];
  };
  assert.deepEqual(said('NOFOLLOW , noarchive'), [true, false]);
  assert.deepEqual(said('noindex'), [false, true]);
  assert.deepEqual(said('none'), [true, true]);
  assert.deepEqual(said('follow, index, max-snippet:-1'), [false, false]);
});

test('scan: a script ends where browsers end it', () => {
  const inside = '<a href=no>';
  for (const script of [
    `<script><!--<script>${inside}</script>${inside}</script>`,
    `<SCRIPT>x<!-- <sCript x>${inside}</script >${inside}--></script>`,
    `<script><!--<script></script>${inside}<script>${inside}</script>${inside}</script>`,
    `<script>"${inside}"</script>`,
  ]) {
    assert.deepEqual(hrefs(`${script}<a href=yes>`), ['yes'], script);
  }
  for (const plain of ['<script><!--></script>', '<script><!-- <scripty></script>']) {
    assert.deepEqual(hrefs(`${plain}<a href=yes>`), ['yes'], plain);
  }
  assert.deepEqual(hrefs('<script><!--<script></script><a href=no>'), []);
  assert.deepEqual(hrefs('<svg><script><!--<script>--></script><a href=yes>'), ['yes']);
  const two = '<script><!--<script></script>--></script>'.repeat(2);
  assert.deepEqual(hrefs(`<a href=1>${two}<a href=2 title="x">${two}<a href=3>`), ['1', '2', '3']);
});

test('scan: CDATA contains no links in SVG, and is a comment up to the next bracket in HTML', () => {
  assert.deepEqual(hrefs('<![CDATA[x><a href=1>]]><a href=2>'), ['1', '2']);
  assert.deepEqual(hrefs('<svg><![CDATA[x><a href=1>]]><a href=2></svg>'), ['2']);
  assert.deepEqual(hrefs('<a href="<![CDATA[1"><!--<![CDATA[--><a href=2>'), ['<![CDATA[1', '2']);
  assert.deepEqual(hrefs('<script>"<![CDATA["</script><a href=1><![CDATA[<svg><a href=2>'), [
    '1',
    '2',
  ]);
});

test('scan: svg in MathML is not SVG, except in an annotation', () => {
  assert.deepEqual(hrefs('<math><svg><a href=1></svg></math>'), []);
  assert.deepEqual(hrefs('<math><annotation-xml><svg><a href=1></svg></math>'), ['1']);
});

test('scan: only templates open within a select, and no frameset within a template', () => {
  assert.deepEqual(hrefs('<select><table><td><a href=1></select><a href=2>'), ['2']);
  assert.deepEqual(hrefs('<table><td><select><tr><a href=1>'), ['1']);
  assert.deepEqual(hrefs('<template><frameset></template><a href=1>'), ['1']);
  assert.deepEqual(hrefs('</br><frameset></frameset><a href=1>'), ['1']);
  assert.deepEqual(hrefs('<input type=Hidden><frameset></frameset><a href=1>'), []);
  assert.deepEqual(hrefs('<input><frameset></frameset><a href=1>'), ['1']);
  assert.deepEqual(
    hrefs('<image><frameset></frameset><a href=1>'),
    ['1'],
    'image is parsed as img',
  );
  assert.deepEqual(hrefs('<svg><desc><frameset><a href=1><frame src=2>'), ['2']);
});

test('scan: in SVG only its own elements are links', () => {
  const html = '<svg><a href=1 /><area href=no><iframe src=no /><frame src=no><base href=no></svg>';
  assert.deepEqual(hrefs(`${html}<svg><link rel=next href=no></svg><a href=2>`), ['1', '2']);
  assert.equal(scanPage(html).base, null);
  assert.deepEqual(hrefs('<svg><desc><iframe src=1></iframe></desc></svg>'), ['1']);
});

test('scan: font with the attributes of HTML ends SVG and MathML', () => {
  for (const attribute of ['color=red', 'FACE=x', 'size']) {
    assert.deepEqual(hrefs(`<math><font ${attribute}><a href=1>`), ['1'], attribute);
  }
  assert.deepEqual(hrefs('<math><font weight=bold><a href=1>'), []);
});

test('scan: embedded content gives links only if requested', () => {
  const html =
    '<link rel=stylesheet href=1><script src=2></script><img src=3 srcset="4 1x, 5 2x">' +
    '<video src=6 poster=7><source src=8></video><object data=9></object><a href=10><img src="">' +
    '<template><img src=no></template><input src=11><svg><image href=12 /></svg>';
  assert.deepEqual(hrefs(html), ['10']);
  assert.deepEqual(
    [...scanPage(html, { embeds: true }).hrefs],
    Array.from({ length: 12 }, (_, n) => `${n + 1}`),
  );
});

test('scan: directives by name apply to the crawler of that name', () => {
  const html = '<meta name=MyBot content=nofollow><meta name=other content=none>';
  const { directives } = scanPage(`${html}<meta name=robots content=noarchive>`, {
    productToken: 'mybot',
  });
  assert.deepEqual(directives, { noindex: false, nofollow: true, noarchive: true });
  assert.equal(scanPage(html).directives.nofollow, false);
});

test('scan: reports the first canonical link', () => {
  assert.equal(
    scanPage('<link rel="x Canonical" href=1><link rel=canonical href=2>').canonical,
    '1',
  );
  assert.equal(scanPage('<a rel=canonical href=1>').canonical, null);
});

test('scan: script and title may be self-closing in XHTML', () => {
  const html = '<title/><script src="x"/><a href="1">';
  assert.deepEqual([...scanPage(html, { xhtml: true }).hrefs], ['1']);
  assert.deepEqual([...scanPage(html).hrefs], []);
});

test('refresh: finds the target by the algorithm of the standard', () => {
  assert.equal(refreshTarget('5; url=next.html'), 'next.html');
  assert.equal(refreshTarget(' .5 , URL = "a b" c'), 'a b');
  assert.equal(refreshTarget("0;'x"), 'x');
  assert.equal(refreshTarget('0;url'), 'url');
  for (const none of ['', '5', '5;', 'x', '-1;a', '1e3;a', ';url=a']) {
    assert.equal(refreshTarget(none), null, none);
  }
});

test('independent cases: an appended link is found where the case says so', {
  skip: absent(probes),
}, () => {
  for (const { id, html, seen, foreign } of probes!) {
    // The rows count no link within SVG or MathML, but this crawler follows links in SVG.
    if (foreign && html.includes('<svg')) continue;
    assert.equal(scanPage(html).hrefs.has('/probe'), seen, `${id} ${html}`);
  }
});

test('independent cases: entities in attributes', { skip: absent(entities) }, () => {
  for (const { raw, decoded } of entities!) {
    assert.deepEqual(hrefs(`<a href="${raw}">`), [decoded], raw);
  }
});

test('independent cases: refresh contents and robots directives', { skip: absent(meta) }, () => {
  for (const { content, rawUrl } of meta!.metaRefresh) {
    if (content !== undefined) assert.equal(refreshTarget(content), rawUrl, content);
  }
  for (const row of meta!.robotsMeta) {
    if (row.html === undefined) continue;
    const { nofollow, noindex } = scanPage(row.html).directives;
    assert.equal(nofollow, row.nofollow ?? row.directives!.includes('nofollow'), row.html);
    assert.equal(noindex, row.noindex ?? row.directives!.includes('noindex'), row.html);
  }
});
