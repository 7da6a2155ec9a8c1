// Whether the element that begins here takes part in the page. Browsers build a tree, in which some
// links never show: those in a template, in a select, beside a frameset, in MathML. Building that
// tree costs more than all the rest of parsing, so this keeps only the few ancestors that decide
// it. The scanner tells it of every tag; the tokenizer, through the scanner, asks whether it is
// inside SVG or MathML, where script and title are no raw text.

/** Nesting that is followed; deeper contexts count as the one at this depth (linear time). */
const DEPTH_MAX = 64;

type Realm = 'html' | 'svg' | 'math';

interface Ancestor {
  readonly name: string;
  readonly realm: Realm;
  /** Links in it lead nowhere. */
  readonly inert: boolean;
}

const INTEGRATION_POINTS: Readonly<Record<Realm, ReadonlySet<string>>> = {
  html: new Set(),
  svg: new Set(['foreignobject', 'desc', 'title']),
  math: new Set(['mi', 'mo', 'mn', 'ms', 'mtext']),
};

/** Stay MathML inside the texts of MathML, where all else is HTML. */
const MATH_IN_TEXT: ReadonlySet<string> = new Set(['mglyph', 'malignmark']);

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(' '));

/** Start tags that end SVG and MathML (HTML Standard, "tokens in foreign content"). */
const BREAKS_OUT = setOf(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li ' +
    'listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var',
);

const ENDS_SELECT = setOf('input keygen textarea select');
const ENDS_SELECT_IN_TABLE = setOf('caption table tbody tfoot thead tr td th');

/** After one of these a frameset comes too late and is ignored ("frameset-ok flag"). */
const FORBIDS_FRAMESET = setOf(
  'body pre listing li dd dt button applet marquee object table area br embed img image keygen ' +
    'wbr input hr textarea xmp iframe select',
);

/** What SVG has of its own; any other name is no element of HTML there, and leads nowhere. */
const SVG_LINKS = setOf('a image');

/** A start tag, as far as the context cares. */
interface StartTag {
  /** In lower case. */
  readonly name: string;
  readonly selfClosing: boolean;
  /**
   * `encoding` of annotation-xml, `shadowrootmode` of template, `type` of input; of font one of those
   * by which it is HTML's; else absent.
   */
  readonly mode?: string | undefined;
}

/** The ancestors that matter, for one document. */
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
      // Nothing inside a template closes what is around it.
      if (this.#ancestors[index]!.name === 'template') return;
    }
  }

  /** Visible text, which makes a later frameset impossible. */
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
      // All but options, scripts and templates is ignored in there.
      if (name === 'select' || (!ends && name !== 'template')) return;
    }
    if (MATH_IN_TEXT.has(name) && INTEGRATION_POINTS.math.has(this.#ancestors.at(-1)?.name ?? '')) {
      if (!selfClosing) this.#push({ name, realm: 'math', inert });
    } else if (name === 'table') this.#tables++;
    else if (name === 'noscript') this.#noscripts++;
    else if (name === 'select') this.#push({ name, realm: 'html', inert: true });
    else if (name === 'template') {
      // A declarative shadow root shows as if it stood there.
      this.#push({ name, realm: 'html', inert: inert || mode === undefined });
    } else if ((name === 'svg' || name === 'math') && !selfClosing) {
      this.#push({ name, realm: name, inert });
    } else if (name === 'frameset' && this.#frameset === 'possible') {
      // It takes the place of the body, with the SVG or MathML whose text it may stand in.
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
      // SVG begins in an annotation; elsewhere in MathML an element of that name is MathML.
      const begins = name === 'svg' && this.#ancestors.at(-1)?.name === 'annotation-xml';
      this.#push({ name, realm: begins ? 'svg' : realm, inert });
    }
  }

  #push(ancestor: Ancestor): void {
    if (this.#ancestors.length < DEPTH_MAX) this.#ancestors.push(ancestor);
  }
}
