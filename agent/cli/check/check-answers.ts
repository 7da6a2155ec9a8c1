// Answers the questions of `ubiring check` by the crawler's own functions. docs/COMMANDS.md describes
// the subjects. Unknown keys are ignored, so that files of test cases can be used as they are.

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

/** The part of a config on which the answers depend. */
export interface CheckSettings {
  readonly userAgent: string;
  readonly urls: IdentityRulesConfig;
  readonly embeds: boolean;
  readonly allowPrivate: boolean;
  /** Whether to look host names up, as a fetch would. */
  readonly resolve: boolean;
}

/**
 * @returns the answer as a JSON object
 * @throws ZodError if the question does not have the shape of the subject
 */
export type Answerer = (question: unknown) => Promise<object> | object;

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
  // A crawler that changed its name may obey both names: `new-bot, old-bot`.
  const names = agent?.split(',').map((name) => name.trim()) ?? [tokenOf(settings.userAgent)];
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
  const productToken = tokenOf(asked.agent ?? settings.userAgent);
  const input: PageInput = {
    body: html_b64 ?? Buffer.from(html ?? ''),
    // JSON text is Unicode already; the charset of bytes is detected.
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
  /** Addresses of the name, instead of a look-up. */
  addresses: z.array(z.string()).optional(),
});

function addressAnswerer({ allowPrivate, resolve }: CheckSettings): Answerer {
  const guard = new AddressGuard({ allowPrivate });
  return (question) => {
    const { input, addresses } = addressQuestion.parse(question);
    const given = addresses?.map(
      (address): ResolvedAddress => ({ address, family: address.includes(':') ? 6 : 4 }),
    );
    const lookup: Lookup | undefined = given
      ? async () => given
      : resolve
        ? systemLookup
        : undefined;
    return checkAddress(input, guard, lookup);
  };
}

function either<Key extends string>(one: Key, other: Key) {
  return (question: { readonly [key in Key]?: unknown }) =>
    question[one] !== undefined || question[other] !== undefined;
}

function tokenOf(userAgent: string): string {
  return productTokenOf(userAgent) ?? '*';
}

function assertNever(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
