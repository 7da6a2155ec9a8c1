// A network of real links. Each agent has its own network namespace; a bridge joins them, and the
// kernel's packet filter creates the faults. Agents listen on 127.200.0.k, which their namespaces
// route to one another, so these are loopback addresses for the program and it accepts commands.
// Every other 127.x.y.z leads to the web of the test's own process. Needs root, iproute2 and
// nftables. Everything created is removed again.

import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { assertNever } from '../../agent/core/protocol/assert-never.ts';

const run = promisify(execFile);

/**
 * A fault of the direction `from` one agent `to` another.
 *
 * - `cut`: every packet is dropped, so connections of both ends fail.
 * - `mute`: only connections that `from` opens are cut. Each agent sends on its own connections, so
 *   `to` hears nothing of `from`, but `from` still hears `to`.
 * - `loss`: the given percentage of packets is dropped.
 * - `reset`: every packet of a connection that `from` opened is answered with a TCP reset.
 * - `webless`: the agent cannot reach the web.
 */
export type LinkFault =
  | { readonly kind: 'cut' | 'mute' | 'reset'; readonly from: string; readonly to: string }
  | { readonly kind: 'loss'; readonly from: string; readonly to: string; readonly percent: number }
  | { readonly kind: 'webless'; readonly id: string };

/** All agents use this port at different addresses. */
const port = 7101;
/** Last byte of this process's address behind the bridge. */
const gatewayByte = 254;
/** Names contain the process id and a counter, so that tests can run in parallel. */
const prefix = 'ub';
let made = 0;

/**
 * Why networks cannot be created here, or null. It tries, because containers differ in their
 * rights.
 */
export function obstacle(): string | null {
  if (process.platform !== 'linux') return 'network namespaces need Linux';
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  const name = `${prefix}${process.pid}-try`;
  try {
    execFileSync('ip', ['netns', 'add', name], { stdio: 'ignore' });
  } catch {
    return '`ip netns add` does not work: install iproute2, and allow CAP_SYS_ADMIN';
  }
  try {
    const options = { stdio: 'ignore' } as const;
    execFileSync('ip', ['netns', 'exec', name, 'nft', 'add', 'table', 'ip', 'try'], options);
    return null;
  } catch {
    return '`nft add table` does not work: install nftables, and allow CAP_NET_ADMIN';
  } finally {
    execFileSync('ip', ['netns', 'delete', name]);
  }
}

/** Cuts every link between the two groups in both directions. */
export function partition(some: readonly string[], others: readonly string[]): LinkFault[] {
  return some.flatMap((a) => others.flatMap((b) => cutBetween(a, b)));
}

export function cutBetween(a: string, b: string): LinkFault[] {
  return [
    { kind: 'cut', from: a, to: b },
    { kind: 'cut', from: b, to: a },
  ];
}

/** One namespace for each agent. Created by `Namespaces.make` and removed by `remove`. */
export class Namespaces {
  readonly #name: string;
  readonly #agents: readonly string[];
  readonly #subnet: string;

  private constructor(agents: readonly string[]) {
    this.#name = `${prefix}${process.pid}-${made++}`;
    this.#agents = agents;
    this.#subnet = freeSubnet();
  }

  /** Creates the namespaces and links without faults. After a failure nothing is left. */
  static async make(agents: readonly string[]): Promise<Namespaces> {
    removeLeftovers();
    const network = new Namespaces(agents);
    process.once('exit', () => network.remove());
    try {
      const lines = [...network.#bridge(), ...agents.flatMap((id) => network.#joined(id))];
      await run('sh', ['-ec', lines.join('\n')]);
      return network;
    } catch (error) {
      network.remove();
      throw error;
    }
  }

  /** The listen address for the agent. */
  listen(id: string): string {
    return `tcp://${this.#loopback(id)}:${port}`;
  }

  /** Prefix for a command that runs in the agent's namespace. */
  before(id: string): readonly string[] {
    return ['ip', 'netns', 'exec', this.#namespace(id)];
  }

  /** Replaces the current faults by these. */
  async set(faults: readonly LinkFault[]): Promise<void> {
    await Promise.all(this.#agents.map((id) => this.#filter(id, faults)));
  }

  /** Limits all that each agent sends to this rate, such as `1mbit`, for good. */
  async narrow(rate: string): Promise<void> {
    const limit = ['root', 'tbf', 'rate', rate, 'burst', '16kb', 'latency', '400ms'];
    const line = ['tc', 'qdisc', 'replace', 'dev', 'eth0', ...limit];
    await Promise.all(this.#agents.map((id) => run('ip', [...this.before(id).slice(1), ...line])));
  }

  /** Removes everything. Processes still running in a namespace lose their network. */
  remove(): void {
    removeAll((name) => name === this.#name || name.startsWith(`${this.#name}-`));
  }

  #filter(id: string, faults: readonly LinkFault[]): Promise<unknown> {
    const rules = faults.flatMap((fault) => this.#rule(id, fault));
    const table = [
      'table ip faults',
      'delete table ip faults',
      'table ip faults {',
      'chain heard { type filter hook input priority 0; policy accept;',
      ...rules,
      '}',
      'chain said { type filter hook output priority 0; policy accept;',
      ...faults.flatMap((fault) => this.#webRule(id, fault, 'daddr')),
      '}',
      '}',
    ].join('\n');
    return run('ip', ['netns', 'exec', this.#namespace(id), 'nft', table]);
  }

  #webRule(id: string, fault: LinkFault, end: 'saddr' | 'daddr'): readonly string[] {
    if (fault.kind !== 'webless' || fault.id !== id) return [];
    return [`ip ${end} != { 127.200.0.0/16, ${this.#subnet}.0/24, 127.0.0.1 } drop`];
  }

  /** The agent's filter rules for incoming packets: links fail at their far ends. */
  #rule(id: string, fault: LinkFault): readonly string[] {
    if (fault.kind === 'webless') return this.#webRule(id, fault, 'saddr');
    if (fault.to !== id) return [];
    // A connecting agent has an address of the subnet. A connected one answers from its 127.x
    // address.
    const caller = `ip saddr ${this.address(fault.from)}`;
    const both = `ip saddr { ${this.address(fault.from)}, ${this.#loopback(fault.from)} }`;
    switch (fault.kind) {
      case 'cut':
        return [`${both} drop`];
      case 'mute':
        return [`${caller} drop`];
      case 'loss':
        return [`${both} numgen random mod 100 < ${fault.percent} drop`];
      case 'reset':
        return [`${caller} ip protocol tcp reject with tcp reset`];
      default:
        return assertNever(fault);
    }
  }

  #bridge(): readonly string[] {
    const name = this.#name;
    return [
      `ip link add ${name} type bridge`,
      `ip addr add ${this.#subnet}.${gatewayByte}/24 dev ${name}`,
      `ip link set ${name} up`,
      // Without this the kernel refuses packets to 127.x from other machines.
      `echo 1 > /proc/sys/net/ipv4/conf/${name}/route_localnet`,
    ];
  }

  #joined(id: string): readonly string[] {
    const namespace = this.#namespace(id);
    const address = this.address(id);
    const ip = `ip -n ${namespace}`;
    const route = (to: string, via: string) => `${ip} route add ${to} via ${via} src ${address}`;
    return [
      `ip netns add ${namespace}`,
      `ip link add ${namespace} type veth peer name eth0 netns ${namespace}`,
      `ip link set ${namespace} master ${this.#name} up`,
      `${ip} link set lo up`,
      `${ip} link set eth0 up`,
      `${ip} addr add ${address}/24 dev eth0`,
      `ip netns exec ${namespace} sysctl -qw net.ipv4.conf.eth0.route_localnet=1 \
        net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth0.rp_filter=0`,
      // Only two addresses of 127.0.0.0/8 stay local: the others are the web and the other agents.
      `${ip} route del local 127.0.0.0/8 dev lo table local`,
      `${ip} route add local ${this.#loopback(id)} dev lo table local`,
      route('127.0.0.0/8', `${this.#subnet}.${gatewayByte}`),
      ...this.#agents
        .filter((other) => other !== id)
        .map((other) => route(this.#loopback(other), this.address(other))),
    ];
  }

  #number(id: string): number {
    return this.#agents.indexOf(id) + 1;
  }

  #namespace(id: string): string {
    return `${this.#name}-${this.#number(id)}`;
  }

  #loopback(id: string): string {
    return `127.200.0.${this.#number(id)}`;
  }

  /** Source address of the agent's own connections, to the web and to the other agents. */
  address(id: string): string {
    return `${this.#subnet}.${this.#number(id)}`;
  }
}

/** The first three bytes of a private network that no local interface uses. */
function freeSubnet(): string {
  const taken = execFileSync('ip', ['-4', '-o', 'addr'], { encoding: 'utf8' });
  for (let third = 0; third < 256; third++) {
    const subnet = `10.240.${(process.pid + made + third) % 256}`;
    if (!taken.includes(` ${subnet}.`)) return subnet;
  }
  throw new Error('every network of 10.240.0.0/16 is in use');
}

/** Removes the networks that a killed test left behind. */
function removeLeftovers(): void {
  removeAll((name) => {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    return pid !== undefined && !isAlive(Number(pid));
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Removing a namespace also removes its links and their other ends. */
function removeAll(which: (name: string) => boolean): void {
  for (const kind of ['netns', 'link'] as const) {
    const list = kind === 'netns' ? ['netns', 'list'] : ['-o', 'link', 'show', 'type', 'bridge'];
    const names = execFileSync('ip', list, { encoding: 'utf8' })
      .split('\n')
      .map((line) => (kind === 'netns' ? line : (line.split(': ')[1] ?? '')).split(' ')[0]!);
    for (const name of names.filter((name) => name !== '' && which(name))) {
      execFileSync('ip', [kind, 'delete', name]);
    }
  }
}
