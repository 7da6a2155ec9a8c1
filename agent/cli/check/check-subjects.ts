// What `ubiring check` can be asked about, and examples for its help. Apart from the answers, whose
// code is loaded only when somebody asks.

export const subjects = ['robots', 'url', 'links', 'address'] as const;
export type Subject = (typeof subjects)[number];

export const checkExamples = `
Questions, one JSON object a line:
  robots   {"robots": "User-agent: *\\nDisallow: /x", "agent": "my-bot", "url": "http://h/x"}
  url      {"in": "../a%7Eb#c", "base": "http://h/d/"}
  links    {"html": "<a href=x>", "contentType": "text/html", "base": "http://h/"}
  address  {"input": "http://0x7f.1/"}
Bytes go as base 64 into robots_b64 and html_b64. A line that is no such question is answered by
{"error": "…"}.`;
