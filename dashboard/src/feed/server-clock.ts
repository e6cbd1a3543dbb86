/** A moment at the server and the same one here, by a clock that never jumps (`performance.now()`). */
export interface ServerClock {
  readonly serverMs: number;
  readonly localMs: number;
}

const jumpMs = 2_000;

export function serverNow({ serverMs, localMs }: ServerClock, local: number): number {
  return serverMs + (local - localMs);
}

/**
 * A message that was long on its way says an old time: the one that came fastest is believed, so that what is counted
 * never runs back. Only a clock that was set anew is followed backwards.
 */
export function followServer(clock: ServerClock | undefined, serverMs: number, localMs: number): ServerClock {
  const ahead = clock ? serverMs - serverNow(clock, localMs) : 0;
  return clock && ahead <= 0 && ahead > -jumpMs ? clock : { serverMs, localMs };
}
