// The subjects of `ubiring check` and the examples of its help. They are apart from the answers, whose
// code is loaded only when the command runs.

export const subjects = ['robots', 'url', 'links', 'address'] as const;
export type Subject = (typeof subjects)[number];

export const checkExamples = `
Questions, one JSON object per line:
  robots   {"robots": "User-agent: *\\nDisallow: /x", "agent": "my-bot", "url": "http://h/x"}
  url      {"in": "../a%7Eb#c", "base": "http://h/d/"}
  links    {"html": "<a href=x>", "contentType": "text/html", "base": "http://h/"}
  address  {"input": "http://0x7f.1/"}
Put bytes as base 64 into robots_b64 and html_b64. The answer to an invalid line is {"error": "…"}.`;
