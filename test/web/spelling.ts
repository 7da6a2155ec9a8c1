// The spellings of a link: each of those that HTML and URLs allow for the same target, drawn by
// number. A crawler must resolve all of them and recognise two spellings of one URL.
import type { Link, SyntheticWeb } from './model.ts';

/** The place of a link: its host, and the path to which relative links refer. */
export interface Site {
  readonly web: SyntheticWeb;
  readonly host: number;
  readonly basePath: string;
}

type Spelling = (link: Link, site: Site) => string;

const authority = ({ host }: Link, { web }: Site) => web.origin(host).slice(web.protocol.length);
const absolute: Spelling = (link, site) => {
  return `${site.web.protocol}${authority(link, site)}${link.path}`;
};

/** Spellings that reach any host. */
const anywhere: readonly Spelling[] = [
  absolute,
  (link, site) => `${authority(link, site)}${link.path}`,
  (link, site) => `${site.web.protocol.toUpperCase()}${authority(link, site)}${link.path}#Part-2`,
  (link, site) => `\n  ${absolute(link, site)}\t`,
  (link, { web }) => {
    // An IPv4 address may be written as one number.
    const bytes = web.address(link.host).split('.').map(Number);
    const number = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
    return `${web.protocol}//${number}:${web.options.port}${link.path}`;
  },
];

const relative: Spelling = ({ path }, { basePath }) => {
  const up = '../'.repeat(basePath.split('?')[0]!.split('/').length - 2);
  return `${up}${path.slice(1)}` || './';
};

/** Spellings that reach pages of the same host. */
const nearby: readonly Spelling[] = [
  ({ path }) => path,
  relative,
  relative,
  (link, site) => `${relative(link, site)}#top`,
  ({ path }) => `/x/./..${path}`,
  ({ path }) => `/x/%2E%2e${path}`,
  ({ path }) => ` ${path}\r\n`,
  ({ path }) => path.replace(/p(?=\d)/, '%70'),
  absolute,
];

/** The value of `link`'s attribute, before it is escaped for HTML. */
export function spell(link: Link, site: Site, number: number): string {
  const spellings = link.host === site.host && number % 4 !== 0 ? nearby : anywhere;
  return spellings[(number >>> 2) % spellings.length]!(link, site);
}

/** A start tag with `value` in its attribute `name`, in one of the forms that HTML allows. */
export function tag(start: string, name: string, value: string, number: number): string {
  const entities = number % 5 === 0;
  let text = value.replaceAll('&', number % 2 === 0 ? '&amp;' : '&#38;').replaceAll('"', '&quot;');
  if (entities) text = text.replace(/\S/, (c) => `&#x${c.charCodeAt(0).toString(16)};`);
  switch ((number >>> 3) % 4) {
    case 0:
      return `<${start} ${name}='${text}'>`;
    case 1:
      // Unquoted values end at white space and must not contain these characters.
      return /[\s"'=<>`]/.test(text)
        ? `<${start} ${name}="${text}">`
        : `<${start} ${name}=${text}>`;
    case 2:
      return `<${start.toUpperCase()}\n ${name.toUpperCase()} = "${text}" >`;
    default:
      return `<${start} class=x ${name}="${text}" data-x='>'>`;
  }
}
