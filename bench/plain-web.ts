// The web that all contenders crawl: static pages of ordinary HTML, so that awkward pages do not
// matter and the server only sends files. The hosts form a tree, and so do the pages of each host,
// so every page can be reached. Further links are random, in the three usual forms. It is written
// to a directory once and served by `plain-server.ts`. Its contents follow from its size and a
// seed.

import fs from 'node:fs';
import path from 'node:path';
import { draw, drawOne } from '../test/web/draw.ts';

export interface PlainWebSize {
  readonly hosts: number;
  /** Pages of all hosts together, a multiple of `hosts`. */
  readonly pages: number;
  /** Approximate size of a page. */
  readonly bodyBytes: number;
  /** Links of a page to random pages of random hosts; 8 by default. */
  readonly farLinks?: number;
}

/** Children of a host and of a page: 10,000 pages on 200 hosts are at most nine links away. */
const fan = 3;
/** Links of a page, tree links included: as many as on pages of documentation. */
export const linksPerPage = 38;
const farLinksDefault = 8;
const directories = 7;

export class PlainWeb {
  readonly size: PlainWebSize;
  /** The addresses of all hosts in order. */
  readonly addresses: readonly string[];
  readonly port: number;

  /** Throws if the pages cannot be distributed evenly. */
  constructor(size: PlainWebSize, port: number) {
    const { hosts, pages } = size;
    if (hosts < 1 || hosts > 254 || pages % hosts !== 0 || pages < hosts) {
      throw new RangeError(`${pages} pages on ${hosts} hosts: a multiple of 1 to 254 hosts`);
    }
    this.size = size;
    this.port = port;
    this.addresses = Array.from({ length: hosts }, (_, i) => `127.9.0.${i + 1}`);
  }

  get seed(): string {
    return this.#url(0, 0);
  }

  /** Address and path of every page, as in the server's log: `127.9.0.1/s1/p1.html`. */
  places(): Set<string> {
    const places = new Set<string>();
    for (const address of this.addresses) {
      for (let k = 0; k < this.#perHost; k++) places.add(address + pathOf(k));
    }
    return places;
  }

  /** Writes `directory/ADDRESS/PATH` for every page, and a robots.txt that allows them all. */
  write(directory: string): { readonly bytesPerPage: number } {
    let bytes = 0;
    for (const [i, address] of this.addresses.entries()) {
      const root = path.join(directory, address);
      for (let d = 0; d < directories; d++) fs.mkdirSync(path.join(root, `s${d}`), recursive);
      fs.writeFileSync(path.join(root, 'robots.txt'), 'User-agent: *\nDisallow: /private/\n');
      for (let k = 0; k < this.#perHost; k++) {
        const html = this.#html(i, k);
        bytes += html.length;
        fs.writeFileSync(path.join(root, k === 0 ? 'index.html' : pathOf(k)), html);
      }
    }
    return { bytesPerPage: bytes / this.size.pages };
  }

  get #perHost(): number {
    return this.size.pages / this.size.hosts;
  }

  #url(i: number, k: number): string {
    return `http://${this.addresses[i]}:${this.port}${pathOf(k)}`;
  }

  /** Only ASCII, so that a character is a byte. */
  #html(i: number, k: number): string {
    const links = this.#links(i, k);
    const head =
      `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">` +
      `<title>${sentence(i, k, 0, 6)}</title><meta name="viewport" content="width=device-width">` +
      `<style>${style}</style><script>${script}</script></head>\n<body><nav><ul>\n`;
    const menu = links.slice(0, 12).map((href, n) => `<li>${anchor(href, i, k, n)}</li>\n`);
    let html = `${head}${menu.join('')}</ul></nav>\n<main><h1>${sentence(i, k, 1, 5)}</h1>\n`;
    const inText = links.slice(12);
    for (let p = 0; html.length < this.size.bodyBytes || p < inText.length; p++) {
      const link = p < inText.length ? ` ${anchor(inText[p] ?? '', i, k, p)}` : '';
      html += `<p class="text"><em>${sentence(i, k, p, 4)}</em> ${drawOne(passages, seed, i, k, p)}${link}`;
      html += `.</p>\n${p % 5 === 0 ? `<div class="note"><span>${p}</span></div>\n` : ''}`;
    }
    return `${html}</main></body></html>\n`;
  }

  /** As written in the page: absolute, from the root, or relative to it. */
  #links(i: number, k: number): string[] {
    const { hosts, farLinks = farLinksDefault } = this.size;
    const nearLinks = linksPerPage - farLinks;
    const links: string[] = [];
    const near = (to: number) => links.push(this.#spell(i, k, to, links.length));
    for (let c = fan * k + 1; c <= fan * k + fan && c < this.#perHost; c++) near(c);
    while (links.length < nearLinks) near(draw(seed, 1, i, k, links.length) % this.#perHost);
    for (let j = fan * i + 1; k === 0 && j <= fan * i + fan && j < hosts; j++) {
      links.push(this.#url(j, 0));
    }
    while (links.length < linksPerPage) {
      const n = links.length;
      links.push(this.#url(draw(seed, 2, i, k, n) % hosts, draw(seed, 3, i, k, n) % this.#perHost));
    }
    return links;
  }

  #spell(i: number, k: number, to: number, n: number): string {
    const way = draw(seed, 4, i, k, n) % 3;
    if (way === 0) return this.#url(i, to);
    if (way === 1 || to === 0) return pathOf(to);
    return k === 0 ? pathOf(to).slice(1) : `..${pathOf(to)}`;
  }
}

const seed = 1;
const recursive = { recursive: true } as const;
const style = 'body{font:16px/1.5 serif;margin:2em}nav li{display:inline}.note{color:#666}';
const script = 'document.documentElement.classList.add("js");';

function pathOf(k: number): string {
  return k === 0 ? '/' : `/s${k % directories}/p${k}.html`;
}

function anchor(href: string, ...numbers: readonly number[]): string {
  return `<a href="${href}" title="${sentence(...numbers, 7, 2)}">${sentence(...numbers, 8, 3)}</a>`;
}

/** The last number is the number of words. The others seed the draw. */
function sentence(...numbers: readonly number[]): string {
  const count = numbers.at(-1) ?? 1;
  return Array.from({ length: count }, (_, n) => drawOne(words, seed, ...numbers, n)).join(' ');
}

const text =
  'the frontier holds what is known and not yet seen and every host has a queue of its own ' +
  'so that no server is asked twice at once whatever the others do while an agent that ends ' +
  'leaves its hosts to those that come after it in the order that all of them can compute';
const words = text.split(' ') as [string, ...string[]];
/** Drawn once. Pages consist of them, each in another order. */
const passages = Array.from({ length: 500 }, (_, n) => sentence(n, 44)) as [string, ...string[]];
