// One OpenTelemetry span for each request of a page or a robots.txt, with its stages as events. Only
// the API is used: without an SDK that the operator loads, nothing is recorded.

import { type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import type { PageRequest } from '../core/protocol/effects.ts';
import type { Outcome } from '../core/protocol/outcome.ts';

const tracer = trace.getTracer('ubiring');

export class PageSpan {
  readonly #span: Span;

  constructor({ kind, fetchUrl, host }: PageRequest) {
    this.#span = tracer.startSpan(kind, {
      attributes: { 'url.full': fetchUrl, 'server.address': host },
    });
  }

  /** The stage has ended. */
  stage(name: 'fetched' | 'parsed' | 'archived'): void {
    this.#span.addEvent(name);
  }

  end(outcome: Outcome): void {
    if (outcome.kind === 'response') {
      this.#span.setAttribute('http.response.status_code', outcome.status);
    } else if (outcome.kind === 'failure') {
      this.#span.setAttribute('error.type', outcome.code);
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: outcome.message });
    }
    this.#span.end();
  }
}
