// An answer to a request that cannot be served, as a problem document (RFC 9457) with a remedy.

export interface ProblemDocument {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** For programs: stays the same when the words change. */
  readonly code: string;
  readonly remedy: string;
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

export class HttpProblem extends Error {
  readonly document: ProblemDocument;

  constructor(status: number, code: string, detail: string, remedy: string) {
    super(detail);
    const title = TITLES[status] ?? 'Error';
    this.document = { type: 'about:blank', title, status, detail, code, remedy };
  }
}
