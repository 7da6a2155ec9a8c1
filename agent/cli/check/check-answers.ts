// What the crawler would decide about one question, for each subject of `ubiring check`: the shape
// of the question (docs/CHECK.md), the crawler's own function, the answer. Keys beyond those named are
// let pass, so that a file of cases can be fed as it is.

import { z } from 'zod';
import { AddressGuard } from '../../fetch/address/address-guard.ts';
import { checkAddress } from '../../fetch/address/check-address.ts';
import { type Lookup, type ResolvedAddress, systemLookup } from '../../fetch/address/dial.ts';
import { type PageInput, parsePage } from '../../parse/page/page.ts';
import { headerDirectives, togetherDirectives } from '../../parse/page/robots-directives.ts';
import { robotsUrlOf } from '../../robots/access.ts';
import { productTokenOf } from '../../robots/product-token.ts';
import { parseRobots } from '../../robots/robots-txt.ts';
import { parseCrawlUrl } from '../../url/crawl-url.ts';
import { IdentityRules, type IdentityRulesConfig } from '../../url/identity-rules.ts';
import type { Subject } from './check-subjects.ts';

/** What of a config the decisions depend on. */
export interface CheckSettings {
  readonly userAgent: string;
  readonly urls: IdentityRulesConfig;
  readonly embeds: boolean;
  readonly allowPrivate: boolean;
  /** Whether names are looked up, as a fetch would. */
  readonly resolve: boolean;
}

/** @returns the answer, to be printed as JSON; throws a `ZodError` where it is no such question. */
export type Answerer = (question: unknown) => Promise<object> | object;

/** Sets up everything that the questions of one run share. */
export function answererOf(subject: Subject, settings: CheckSettings): Answerer {
  switch (subject) {
    case 'robots':
      return (question) => robotsAnswer(question, settings);
    case 'url':
      return urlAnswerer(settings);
    case 'links':
      return (question) => linksAnswer(question, settings);
    case 'address':
      return addressAnswerer(settings);
    default:
      return assertNever(subject);
  }
}

const base64 = z.base64().transform((text) => Buffer.from(text, 'base64'));

const robotsQuestion = z
  .object({
    robots: z.string().optional(),
    robots_b64: base64.optional(),
    agent: z.string().optional(),
    url: z.string(),
  })
  .refine(either('robots', 'robots_b64'), 'has neither robots nor robots_b64');

function robotsAnswer(question: unknown, settings: CheckSettings): object {
  const { robots, robots_b64, agent, url } = robotsQuestion.parse(question);
  // A crawler that changed its name may go by both: `new-bot, old-bot`.
  const names = agent?.split(',').map((name) => name.trim()) ?? [tokenOf(settings)];
  const fileUrl = URL.canParse(url) ? robotsUrlOf(url) : undefined;
  const rules = parseRobots(robots_b64 ?? robots ?? '', names, fileUrl);
  const { allowed, rule } = rules.allows(url);
  return { allowed, crawlDelayMs: rules.crawlDelayMs, rule, sitemaps: rules.sitemaps };
}

const urlQuestion = z.object({ in: z.string(), base: z.string().nullish() });

function urlAnswerer(settings: CheckSettings): Answerer {
  const rules = new IdentityRules(settings.urls);
  return (question) => {
    const { in: text, base } = urlQuestion.parse(question);
    const url = parseCrawlUrl(text, base || undefined);
    if ('refused' in url) return { url: null, reason: url.refused };
    return { url: rules.apply(url).identity, reason: null };
  };
}

const linksQuestion = z
  .object({
    html: z.string().optional(),
    html_b64: base64.optional(),
    contentType: z.string().nullish(),
    base: z.string(),
    agent: z.string().optional(),
    xRobotsTag: z.union([z.string(), z.array(z.string())]).optional(),
    embeds: z.boolean().optional(),
  })
  .refine(either('html', 'html_b64'), 'has neither html nor html_b64');

function linksAnswer(question: unknown, settings: CheckSettings): object {
  const { html, html_b64, contentType, base, ...asked } = linksQuestion.parse(question);
  const productToken = asked.agent === undefined ? tokenOf(settings) : namedIn(asked.agent);
  const input: PageInput = {
    body: html_b64 ?? Buffer.from(html ?? ''),
    // JSON text is Unicode already; bytes speak for themselves.
    contentType: contentType || (html_b64 === undefined ? 'text/html; charset=utf-8' : null),
    url: base,
    untyped: 'html',
    embeds: asked.embeds ?? settings.embeds,
    productToken,
  };
  const page = parsePage(input);
  const tags = [asked.xRobotsTag ?? []].flat().join(', ');
  const { nofollow, noindex } = togetherDirectives(page, headerDirectives(tags, productToken));
  const links = nofollow ? [] : page.links.map(({ identity, fetchUrl }) => fetchUrl ?? identity);
  const { charset, base: resolved, refresh } = page;
  return { links, charset, base: resolved, refresh, nofollow, noindex };
}

const addressQuestion = z.object({
  input: z.string(),
  /** What a name leads to, instead of asking a resolver. */
  addresses: z.array(z.string()).optional(),
});

function addressAnswerer({ allowPrivate, resolve }: CheckSettings): Answerer {
  const guard = new AddressGuard({ allowPrivate });
  return (question) => {
    const { input, addresses } = addressQuestion.parse(question);
    const told: Lookup | undefined =
      addresses === undefined ? undefined : async () => addresses.map(resolvedTo);
    return checkAddress(input, guard, told ?? (resolve ? systemLookup : undefined));
  };
}

function resolvedTo(address: string): ResolvedAddress {
  return { address, family: address.includes(':') ? 6 : 4 };
}

function either<Key extends string>(one: Key, other: Key) {
  return (question: { readonly [key in Key]?: unknown }) =>
    question[one] !== undefined || question[other] !== undefined;
}

function tokenOf({ userAgent }: CheckSettings): string {
  return namedIn(userAgent);
}

function namedIn(userAgent: string): string {
  return productTokenOf(userAgent) ?? '*';
}

function assertNever(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
