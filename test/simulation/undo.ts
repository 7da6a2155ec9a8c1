// Removes a rule for a while, by replacing a method, or by changing or dropping messages. Each
// function returns the function that restores the original.

import type { Message } from '../../agent/core/protocol/messages.ts';
import { Cluster } from './cluster.ts';
import type { Running } from './running.ts';

export type Undo = () => void;

export function replace<T extends object, K extends keyof T>(
  target: T,
  name: K,
  make: (was: T[K]) => T[K],
): Undo {
  const was = target[name];
  target[name] = make(was);
  return () => {
    target[name] = was;
  };
}

/** Like `replace`, for a property with a getter. */
export function replaceRead<T extends object, K extends keyof T & string>(
  target: T,
  name: K,
  get: (this: T) => T[K],
): Undo {
  const was = Object.getOwnPropertyDescriptor(target, name)!;
  Object.defineProperty(target, name, { ...was, get });
  return () => {
    Object.defineProperty(target, name, was);
  };
}

export interface Call {
  readonly undo: Undo;
  /** Whether the method is running. */
  isOn(): boolean;
}

/** Watches a method, for rules that are removed only while it runs. */
export function calls<T extends object, K extends keyof T>(target: T, name: K): Call {
  let running = 0;
  const undo = replace(target, name, (was) => {
    const method = was as (...args: never[]) => unknown;
    return function (this: T, ...args: never[]) {
      running++;
      try {
        return method.apply(this, args);
      } finally {
        running--;
      }
    } as T[K];
  });
  return { undo, isOn: () => running > 0 };
}

/** Like `replace`, while another method runs. */
export function replaceIn<T extends object, K extends keyof T>(
  call: Call,
  target: T,
  name: K,
  instead: T[K],
): Undo[] {
  const other = instead as (...args: never[]) => unknown;
  const replaced = replace(target, name, (was) => {
    const method = was as (...args: never[]) => unknown;
    return function (this: T, ...args: never[]) {
      return (call.isOn() ? other : method).apply(this, args);
    } as T[K];
  });
  return [call.undo, replaced];
}

type Of<T extends Message['type']> = Extract<Message, { type: T }>;

/** Sends messages of this type as `change` returns them; null: drops them. */
export function changeSent<T extends Message['type']>(
  type: T,
  change: (message: Of<T>, cluster: Cluster, agent: Running, to: string) => Of<T> | null,
): Undo {
  return replace(Cluster.prototype, 'send', (was) => {
    return function (this: Cluster, agent, to, envelope, address) {
      if (envelope.message.type !== type) return was.call(this, agent, to, envelope, address);
      const message = change(envelope.message as Of<T>, this, agent, to);
      if (message) was.call(this, agent, to, { ...envelope, message }, address);
    };
  });
}

/** Sends each list part or yield once, and drops repetitions. */
export function once(type: 'YIELD' | 'LIST'): Undo {
  const seen = new Set<string>();
  return replace(Cluster.prototype, 'send', (was) => {
    return function (this: Cluster, agent, to, envelope, address) {
      const { message, from } = envelope;
      if (message.type === type) {
        const what = message.type === 'YIELD' ? message.items.map((i) => i.host) : message.part;
        const key = `${from.id}.${from.inc} ${message.list} ${to}.${envelope.to.inc} ${what}`;
        if (seen.has(key)) return;
        seen.add(key);
      }
      was.call(this, agent, to, envelope, address);
    };
  });
}
