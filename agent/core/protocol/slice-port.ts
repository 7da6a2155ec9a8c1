// How long a turn may go on with work that can be continued in the next one. The core has no clock,
// so it asks this port: the runtime implements it by time, the simulator by counted work.

export interface TurnSlice {
  /** A new slice begins. */
  begin(): void;
  /** Whether there is time left; asked before each piece of at most a millisecond. */
  mayGoOn(): boolean;
}
