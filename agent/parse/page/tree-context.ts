// Decides whether the links of an element count. Browsers build a tree in which some links never
// appear: links in a template, in a select, beside a frameset, in MathML. Building that tree would
// cost more than the rest of the parsing, so only the few ancestors that matter are tracked. They
// also show whether the tokenizer is in SVG or MathML, where script and title are not raw text.

/** Limit on the tracked nesting, for linear time; deeper elements share the last context. */
const DEPTH_MAX = 64;

type Realm = 'html' | 'svg' | 'math';

interface Ancestor {
  readonly name: string;
  readonly realm: Realm;
  /** Whether links in it are ignored. */
  readonly inert: boolean;
}

const INTEGRATION_POINTS: Readonly<Record<Realm, ReadonlySet<string>>> = {
  html: new Set(),
  svg: new Set(['foreignobject', 'desc', 'title']),
  math: new Set(['mi', 'mo', 'mn', 'ms', 'mtext']),
};

/** Elements that stay MathML inside text of MathML, where all other elements are HTML. */
const MATH_IN_TEXT: ReadonlySet<string> = new Set(['mglyph', 'malignmark']);

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(' '));

/** Start tags that end SVG and MathML (HTML Standard, "tokens in foreign content"). */
const BREAKS_OUT = setOf(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li ' +
    'listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var',
);

const ENDS_SELECT = setOf('input keygen textarea select');
const ENDS_SELECT_IN_TABLE = setOf('caption table tbody tfoot thead tr td th');

/** Elements after which a frameset is ignored ("frameset-ok flag"). */
const FORBIDS_FRAMESET = setOf(
  'body pre listing li dd dt button applet marquee object table area br embed img image keygen ' +
    'wbr input hr textarea xmp iframe select',
);

/** Elements of SVG whose links count. Any other name is not an HTML element there. */
const SVG_LINKS = setOf('a image');

/** The parts of a start tag that the context needs. */
interface StartTag {
  /** In lower case. */
  readonly name: string;
  readonly selfClosing: boolean;
  /**
   * `encoding` of annotation-xml, `shadowrootmode` of template, `type` of input; for font, any of
   * the attributes that make it an HTML element.
   */
  readonly mode?: string | undefined;
}

/** The tracked ancestors of the current position in a document. */
export class TreeContext {
  readonly #ancestors: Ancestor[] = [];
  #tables = 0;
  #noscripts = 0;
  #frameset: 'possible' | 'impossible' | 'open' = 'possible';

  get #realm(): Realm {
    return this.#ancestors.at(-1)?.realm ?? 'html';
  }

  get inForeignContent(): boolean {
    return this.#realm !== 'html';
  }

  get inNoscript(): boolean {
    return this.#noscripts > 0;
  }

  /** @returns whether a link on this element counts */
  open(tag: StartTag): boolean {
    const { name } = tag;
    if (BREAKS_OUT.has(name) || (name === 'font' && tag.mode !== undefined)) this.#leaveForeign();
    const inert = this.#ancestors.at(-1)?.inert ?? false;
    if (this.#realm !== 'html') {
      const counts = !inert && this.#realm === 'svg' && SVG_LINKS.has(name);
      this.#openForeign(tag, inert);
      return counts;
    }
    if (this.#frameset === 'open') return name === 'frame' && !inert;
    this.#openHtml(tag, inert);
    return !inert && name !== 'frame';
  }

  close(name: string): void {
    if (name === 'br' || name === 'p') this.#leaveForeign();
    // `</br>` is read as `<br>`.
    if (name === 'br') this.text();
    if (name === 'noscript') this.#noscripts = Math.max(0, this.#noscripts - 1);
    if (this.#tables > 0 && ENDS_SELECT_IN_TABLE.has(name)) this.#endAncestor('select');
    if (name === 'table') this.#tables = Math.max(0, this.#tables - 1);
    this.#endAncestor(name);
  }

  #leaveForeign(): void {
    while (this.inForeignContent) this.#ancestors.pop();
  }

  #endAncestor(name: string): void {
    for (let index = this.#ancestors.length - 1; index >= 0; index--) {
      if (this.#ancestors[index]!.name === name) {
        this.#ancestors.length = index;
        return;
      }
      // An end tag inside a template closes no element outside it.
      if (this.#ancestors[index]!.name === 'template') return;
    }
  }

  /** Records visible text, after which a frameset is ignored. */
  text(): void {
    if (this.#frameset === 'possible') this.#frameset = 'impossible';
  }

  get wantsText(): boolean {
    return this.#frameset === 'possible';
  }

  #openHtml({ name, mode, selfClosing }: StartTag, inert: boolean): void {
    if (this.#ancestors.at(-1)?.name === 'select') {
      const ends = ENDS_SELECT.has(name) || (this.#tables > 0 && ENDS_SELECT_IN_TABLE.has(name));
      if (ends) this.#ancestors.pop();
      // A select ignores all elements but options, scripts and templates.
      if (name === 'select' || (!ends && name !== 'template')) return;
    }
    if (MATH_IN_TEXT.has(name) && INTEGRATION_POINTS.math.has(this.#ancestors.at(-1)?.name ?? '')) {
      if (!selfClosing) this.#push({ name, realm: 'math', inert });
    } else if (name === 'table') this.#tables++;
    else if (name === 'noscript') this.#noscripts++;
    else if (name === 'select') this.#push({ name, realm: 'html', inert: true });
    else if (name === 'template') {
      // A declarative shadow root is displayed, so its links count.
      this.#push({ name, realm: 'html', inert: inert || mode === undefined });
    } else if ((name === 'svg' || name === 'math') && !selfClosing) {
      this.#push({ name, realm: name, inert });
    } else if (name === 'frameset' && this.#frameset === 'possible') {
      // A frameset replaces the body, and the SVG or MathML whose text it is in.
      if (this.#ancestors.every(({ name }) => name !== 'template')) {
        this.#ancestors.length = 0;
        this.#frameset = 'open';
      }
    }
    const isHidden = name === 'input' && mode?.toLowerCase() === 'hidden';
    if (FORBIDS_FRAMESET.has(name) && !isHidden) this.text();
  }

  #openForeign({ name, selfClosing, mode }: StartTag, inert: boolean): void {
    if (selfClosing) return;
    const realm = this.#realm;
    if (name === 'annotation-xml' && realm === 'math') {
      const isHtml = mode !== undefined && /^(text\/html|application\/xhtml\+xml)$/i.test(mode);
      this.#push({ name, realm: isHtml ? 'html' : 'math', inert });
    } else if (INTEGRATION_POINTS[realm].has(name)) {
      this.#push({ name, realm: 'html', inert });
    } else if (name === 'svg' || name === 'math') {
      // `svg` starts SVG in annotation-xml; elsewhere in MathML it is an element of MathML.
      const begins = name === 'svg' && this.#ancestors.at(-1)?.name === 'annotation-xml';
      this.#push({ name, realm: begins ? 'svg' : realm, inert });
    }
  }

  #push(ancestor: Ancestor): void {
    if (this.#ancestors.length < DEPTH_MAX) this.#ancestors.push(ancestor);
  }
}
