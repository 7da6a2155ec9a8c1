// A binary min-heap of values with numeric keys. Values with equal keys leave in insertion order.
// There is no removal of arbitrary entries: callers skip outdated ones when they come up.

export class MinHeap<T> {
  readonly #keys: number[] = [];
  readonly #values: T[] = [];
  /** Insertion number of each value; breaks ties between equal keys. */
  readonly #order: number[] = [];
  #pushed = 0;

  get size(): number {
    return this.#keys.length;
  }

  /** The smallest key; Infinity: the heap is empty. */
  get firstKey(): number {
    return this.#keys[0] ?? Infinity;
  }

  get first(): T | undefined {
    return this.#values[0];
  }

  push(key: number, value: T): void {
    let i = this.#keys.length;
    this.#keys.push(key);
    this.#values.push(value);
    this.#order.push(++this.#pushed);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.#isBefore(parent, i)) break;
      this.#swap(i, parent);
      i = parent;
    }
  }

  pop(): T | undefined {
    const first = this.#values[0];
    const lastKey = this.#keys.pop();
    const last = this.#values.pop();
    const lastOrder = this.#order.pop();
    if (this.#keys.length === 0 || lastKey === undefined) return first;
    this.#keys[0] = lastKey;
    this.#values[0] = last as T;
    this.#order[0] = lastOrder!;
    this.#sink();
    return first;
  }

  #sink(): void {
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      const right = left + 1;
      let least = i;
      if (left < this.#keys.length && this.#isBefore(left, least)) least = left;
      if (right < this.#keys.length && this.#isBefore(right, least)) least = right;
      if (least === i) return;
      this.#swap(i, least);
      i = least;
    }
  }

  #isBefore(i: number, j: number): boolean {
    const [a, b] = [this.#keys[i]!, this.#keys[j]!];
    return a === b ? this.#order[i]! < this.#order[j]! : a < b;
  }

  #swap(i: number, j: number): void {
    [this.#order[i], this.#order[j]] = [this.#order[j]!, this.#order[i]!];
    [this.#keys[i], this.#keys[j]] = [this.#keys[j]!, this.#keys[i]!];
    [this.#values[i], this.#values[j]] = [this.#values[j]!, this.#values[i]!];
  }
}
