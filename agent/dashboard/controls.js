// The controls: directives with their receipts, seeds, and agents that leave or stop.

import { html, useState } from '/lib/htm.js';
import { may, post } from './api.js';
import { count, duration } from './format.js';
import { MovesDialog } from './moves.js';
import { Failure, Table } from './tables.js';

/** Sends a command and keeps its receipt: what each agent said, and later the agents of `view`. */
export function useCommand(view, onDone) {
  const [state, set] = useState({});
  const agents = view?.agents ?? [];
  const send = async (what, path, body) => {
    // Agents that come later get directives, but nothing else.
    const isKept = path === '/directives';
    const sent = { what, isKept };
    const before = agents.map(({ directives }) => directives);
    set({ ...sent, isRunning: true });
    try {
      const receipt = await post(path, body);
      set({ ...sent, receipt, before });
      onDone?.();
    } catch (error) {
      set({ ...sent, error });
    }
  };
  return { ...state, agents, send };
}

/** The answer of an agent. One that was not reached has the directive once it has the same as others. */
function saidBy(id, answer, { receipt, before, agents }) {
  const digestOf = (one) => agents.find((agent) => agent.id === one)?.directives;
  const digest = digestOf(Object.keys(receipt).find((one) => receipt[one] === 'applied'));
  const isLate = answer === 'unreachable' && digest && !before.includes(digest);
  return isLate && digestOf(id) === digest ? 'applied' : textOf(answer);
}

export function Receipt({ command }) {
  const { receipt, error, isRunning, what, isKept } = command;
  if (isRunning) return html`<p class="quiet" role="status">${what}…</p>`;
  if (error) return html`<${Failure} error=${error} />`;
  if (!receipt) return null;
  // The answers to seeds are objects.
  const seeds = Object.values(receipt).filter((answer) => answer.url || answer.refused);
  const { stillBlockedBy: by, absentAgent: id, ...rest } = receipt;
  const answers = seeds[0] ? receipt : rest;
  const but = !seeds[0] && (by ? `Still blocked by ${by}: unblock that, too.` : id && `No agent answers as ${id}.`);
  const said = Object.entries(answers).map(([id, answer]) => [id, saidBy(id, answer, command)]);
  const missing = said.filter(([, text]) => text !== 'applied');
  const done = said.length - missing.length;
  const isNowhere = said.every(([, text]) => text === 'unreachable');
  const refused = seeds.filter((seed) => seed.refused).length;
  const accepted = seeds.length - refused;
  const result = seeds[0] ? `${count(accepted)} accepted, ${count(refused)} refused` : isNowhere ? 'not done' : 'done';
  const isGood = missing.length === accepted && !but;
  const later = isKept ? 'it will obey after contact with another agent' : 'it does not have it; try again';
  return html`<div class=${`note ${isGood ? 'good' : 'warn'}`} role="status">
    <strong>${what}: ${done > 0 ? `${count(done)} of ${count(said.length)} agents have it` : result}</strong>
    ${missing.map(([id, text]) => html`<br />${id}: ${text}${text === 'unreachable' ? `; ${later}` : ''}`)}
    ${but && html`<br />${but}`}
  </div>`;
}

function textOf(answer) {
  if (answer.refused) return `refused: ${answer.refused}`;
  if (answer.url) return answer.owner ? `accepted by ${answer.owner}` : 'accepted';
  return answer;
}

/** Directives about an agent that have a number. */
const OF_AGENTS = ['capacity', 'threads'];

function withdrawalOf({ kind, host }) {
  if (kind === 'pause') return { kind: 'resume' };
  if (kind === 'drain') return { kind: 'undrain', agent: host };
  if (OF_AGENTS.includes(kind)) return { kind, agent: host === '*' ? 'all' : host, value: 'default' };
  return { kind: `un${kind}`, host: host ?? '*' };
}

/** The status of an agent lists not more of them. */
const LISTED_MAX = 100;

const BUTTONS = { drain: 'Drain', undrain: 'Undrain', capacity: 'Set the capacity' };

/** The capacity that a directive leads to; undefined: it moves no hosts. */
function capacityAfter({ kind, agent, value }, { orders = [] }) {
  if (kind === 'drain') return 0;
  const inForce = (what) => orders.find((one) => one.kind === what && one.host === agent);
  if (kind === 'undrain') return inForce('capacity')?.value ?? 'default';
  return kind === 'capacity' && !inForce('drain') ? value : undefined;
}

export function Directives({ view, refresh }) {
  const command = useCommand(view, refresh);
  const [asked, setAsked] = useState(null);
  const [form, setForm] = useState({ host: '', delay: '', seeds: '', agent: '', capacity: '', threads: '' });
  const set = (name) => ({ target }) => {
    target.setCustomValidity('');
    setForm({ ...form, [name]: target.value });
  };
  const give = (what, body) => (event) => {
    event.preventDefault();
    const isAll = body.kind === 'block' && body.host === '*';
    if (isAll && !confirm('Block all hosts? The crawl then ends.')) return;
    const order = () => command.send(what, '/directives', body);
    const capacity = capacityAfter(body, view);
    if (capacity === undefined) return order();
    setAsked({ id: body.agent, capacity, title: what, button: BUTTONS[body.kind], order });
  };
  /** The browser says what is wrong with the fields that the button needs. */
  const needs = (names, order) => (event) => {
    const isValid = (name) => {
      const field = event.target.form[name];
      field.required = true;
      // The browser would take `min` itself.
      if (name === 'capacity' && Number(field.value) === 0) field.setCustomValidity('Write a number above 0.');
      return field.reportValidity();
    };
    if (names.every(isValid)) order(event);
  };
  const ofHost = (what, body, names = []) => needs(['host', ...names], give(`${what} ${host}`, { ...body, host }));
  const ofAgent = (kind, what) => needs([kind], give(`${what} of ${agent}`, { kind, agent, value: Number(form[kind]) }));
  const close = () => setAsked(null);
  const sure = () => {
    asked.order();
    close();
  };
  const isPaused = view.orders?.some((d) => d.kind === 'pause');
  const turn = isPaused ? 'Resume' : 'Pause';
  const host = form.host.trim();
  const agent = form.agent || (view.agents[0]?.id ?? '');
  const isDrained = view.agents.some(({ id, capacity }) => id === agent && capacity === 0);
  const columns = [
    { title: 'Directive', of: (d) => d.kind },
    { title: 'Hosts or agent', of: (d) => d.host || 'all' },
    { title: 'Value', of: (d) => (d.kind === 'delay' ? duration(d.value) : OF_AGENTS.includes(d.kind) ? d.value : '') },
    { title: 'Given to', of: (d) => d.by },
    { title: 'Obeyed by', of: (d) => (d.missing.length > 0 ? `${count(d.applied.length)} agents; not yet by ${d.missing.join(', ')}` : 'all agents') },
    {
      title: 'Withdraw',
      of: (d) => {
        const body = withdrawalOf(d);
        return html`<button type="button" class="small" onClick=${give(`Withdraw ${d.kind}`, body)}>Withdraw<span class="hidden"> ${d.kind} ${d.host ?? ''}</span></button>`;
      },
    },
  ];
  return html`<section>
    <h2>Directives</h2>
    <${Receipt} command=${command} />
    ${!may('steer') && html`<p class="note warn">${view.agents[0] ? 'These need role steer: press Token.' : 'No agent runs.'}</p>`}
    <fieldset disabled=${!may('steer')}>
    <${Table} caption="Directives in force" columns=${columns} rows=${view.orders ?? []} keyOf=${(d) => `${d.kind} ${d.host}`} empty="No directive is in force." />
    ${view.orders?.length >= LISTED_MAX && html`<p class="quiet">Not more than ${LISTED_MAX} are listed; <a href="#sql?sql=SELECT * FROM orders ORDER BY agent">the view orders</a> has all.</p>`}
    <div class="grid forms">
      <form class="card stack" onSubmit=${give(turn, { kind: turn.toLowerCase() })}>
        <h3>${turn}</h3>
        <p>${isPaused ? 'The agents send requests again.' : 'No agent sends new requests until the crawl is resumed. It does not end meanwhile.'}</p>
        <button type="submit" class="main">${turn} the crawl</button>
      </form>
      <form class="card stack" onSubmit=${(e) => e.preventDefault()}>
        <h3>Hosts</h3>
        <label>A host, or *.host for its subdomains <input name="host" pattern=" *[^ ]+ *" value=${form.host} onInput=${set('host')} /></label>
        <div class="row">
          <button type="button" onClick=${ofHost('Block', { kind: 'block' })}>Block</button>
          <button type="button" onClick=${ofHost('Unblock', { kind: 'unblock' })}>Unblock</button>
        </div>
        <label>Delay in milliseconds <input type="number" name="delay" min="0" max="86400000" value=${form.delay} onInput=${set('delay')} /></label>
        <div class="row">
          <button type="button" onClick=${ofHost('Delay of', { kind: 'delay', delayMs: Number(form.delay) }, ['delay'])}>Set the delay</button>
          <button type="button" onClick=${ofHost('Delay of', { kind: 'undelay' })}>Use the delay of the config</button>
        </div>
      </form>
      <form class="card stack" onSubmit=${(event) => {
        event.preventDefault();
        command.send('Seeds', '/seeds', { urls: form.seeds.trim().split(/\s*\n\s*|\s+(?=\S+:)/).filter(Boolean) });
      }}>
        <h3>Seeds</h3>
        <label>URLs, one per line <textarea rows="3" value=${form.seeds} onInput=${set('seeds')}></textarea></label>
        <button type="submit" disabled=${form.seeds.trim() === ''}>Add the seeds</button>
      </form>
      <form class="card stack" onSubmit=${(e) => e.preventDefault()}>
        <h3>One agent</h3>
        <label>Agent <select value=${agent} onChange=${set('agent')}>
          ${view.agents.map(({ id }) => html`<option value=${id}>${id}</option>`)}
        </select></label>
        <p>A drained agent hands over its hosts and takes no others, but keeps running.</p>
        <div class="row">
          <button type="button" disabled=${agent === '' || isDrained} onClick=${give(`Drain of ${agent}`, { kind: 'drain', agent })}>Drain</button>
          <button type="button" disabled=${agent === ''} onClick=${give(`Return of ${agent}`, { kind: 'undrain', agent })}>Undrain</button>
        </div>
        <label>Capacity <input type="number" name="capacity" min="0" max="1000" step="any" value=${form.capacity} onInput=${set('capacity')} /></label>
        <button type="button" disabled=${agent === ''} onClick=${ofAgent('capacity', 'Capacity')}>Set the capacity</button>
        <label>Threads <input type="number" name="threads" min="1" max="4096" value=${form.threads} onInput=${set('threads')} /></label>
        <button type="button" disabled=${agent === ''} onClick=${ofAgent('threads', 'Threads')}>Set the threads</button>
      </form>
      <${Stop} command=${command} />
    </div>
    </fieldset>
    ${asked && html`<${MovesDialog} ...${asked} onSure=${sure} onClose=${close} />`}
  </section>`;
}

function Stop({ command }) {
  const [isSure, setSure] = useState(false);
  return html`<form class="card stack" onSubmit=${(event) => {
    event.preventDefault();
    setSure(false);
    command.send('Stop', '/stop', {});
  }}>
    <h3>Stop</h3>
    <p>All agents settle their pages and exit. A later launch continues the crawl.</p>
    <label class="check"><input type="checkbox" checked=${isSure} onChange=${(e) => setSure(e.target.checked)} /> Stop all agents</label>
    <button type="submit" class="danger" disabled=${!isSure || !may('admin')}>Stop the crawl</button>
  </form>`;
}

export function LeaveDialog({ id, onClose, refresh }) {
  const command = useCommand(null, refresh);
  // The button that has opened the dialog goes with the agent.
  const close = () => {
    onClose();
    if (command.isRunning || command.receipt) document.querySelector('main h2')?.focus();
  };
  const order = () => command.send(`Leave of ${id}`, `/agents/${encodeURIComponent(id)}/leave`, {});
  return html`<${MovesDialog} id=${id} title=${`${id} leaves`} button="Leave" isDone=${command.isRunning || command.receipt} onSure=${order} onClose=${close}>
    <${Receipt} command=${command} />
  </${MovesDialog}>`;
}
