// Requests to the API of the agent that serves this page. A token is kept for this tab only, and is
// sent in a header, never in a URL.

const API = '/api/v1';
const TOKEN = 'ubiring-token';
const ROLES = ['read', 'steer', 'admin'];
/** A person sends no headers. */
const REMEDIES = {
  'token-missing': 'press Token, and enter one',
  'token-unknown': 'press Token, and enter another one',
  'role-too-low': 'press Token, and enter one with that role',
};
/** The role that the last answer named. */
let role = 'admin';

export const may = (needed) => ROLES.indexOf(role) >= ROLES.indexOf(needed);

/** An answer with a problem document: what is wrong, and the remedy. */
export class Problem extends Error {
  constructor({ title, status, detail, code, remedy }) {
    super(detail ?? title);
    // Nor does a person send requests to the API.
    Object.assign(this, { status, code, remedy: REMEDIES[code] ?? remedy?.replace(/^GET [^;]+(; )?/, '') });
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? '',
  set: (value) => {
    if (value === '') sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, value);
  },
};

async function request(path, options = {}) {
  const bearer = token.get();
  const headers = { ...options.headers, ...(bearer && { authorization: `Bearer ${bearer}` }) };
  let response;
  try {
    response = await fetch(API + path, { ...options, headers, credentials: 'omit' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    const remedy = 'if the crawl has ended: ubiring replay CONFIG; otherwise start the launch again, or open the dashboard of another agent';
    throw new Problem({ status: 0, detail: 'this server does not answer', remedy });
  }
  role = response.headers.get('ubiring-role') ?? role;
  if (response.ok) return response;
  const document = await response.json().catch(() => ({ detail: response.statusText }));
  throw new Problem({ status: response.status, ...document });
}

/** @param {Record<string, string | number | undefined>} query - without the undefined ones */
export async function get(path, query = {}, signal) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given).toString();
  return (await request(search ? `${path}?${search}` : path, { signal })).json();
}

/** Integers that no number may hold stay texts. */
const exact = (_, value, { source } = {}) => (/^-?\d{16,}$/.test(source) ? source : value);

export async function post(path, body) {
  const headers = { 'content-type': 'application/json' };
  const sent = await request(path, { method: 'POST', headers, body: JSON.stringify(body ?? {}) });
  return JSON.parse(await sent.text(), exact);
}

/**
 * Calls `on.cluster` and `on.circle` for each state of the cluster, and `on.message` for each event of
 * the agents, from earlier ones on, until `signal` is aborted. Returns after a lost connection.
 */
export async function readStream(lastId, on, signal) {
  const headers = lastId ? { 'last-event-id': lastId } : {};
  const response = await request('/events?state=true', { signal, headers });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      // A call may have aborted it.
      if (signal.aborted) return;
      const fields = block.split('\n').map((line) => line.split(/: (.*)/s));
      const field = (name) => fields.find(([key]) => key === name)?.[1];
      if (field('data')) on[field('event') ?? 'message']?.(JSON.parse(field('data')), field('id'));
    }
  }
}
