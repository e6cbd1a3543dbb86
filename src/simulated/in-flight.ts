import type { CallContext, CallTable } from "../cri/serve-call.ts";

/** The calls under way: a reboot, an outage or the end of the daemon breaks them off. */
export interface InFlight {
  /** Gives a call a signal that follows its caller's and breaks off with the others. Throws while shut. */
  enter(signal: AbortSignal | undefined): OpenCall;
  interrupt(reason: Error): void;
  /** From now on calls fail with this at once. */
  shut(reason: Error): void;
  reopen(): void;
}

interface OpenCall {
  readonly signal: AbortSignal;
  leave(): void;
}

/** What a call's signal says after it has ended: nobody looks. */
const over = new Error("the call is over");

export function createInFlight(): InFlight {
  const calls = new Set<AbortController>();
  let shutFor: Error | undefined;

  function interrupt(reason: Error): void {
    for (const call of calls) call.abort(reason);
    calls.clear();
  }

  return {
    enter(caller) {
      if (shutFor) throw shutFor;
      caller?.throwIfAborted();
      const call = new AbortController();
      const follow = () => call.abort(caller?.reason);
      caller?.addEventListener("abort", follow, { once: true });
      calls.add(call);
      return {
        signal: call.signal,
        leave() {
          caller?.removeEventListener("abort", follow);
          calls.delete(call);
          call.abort(over);
        },
      };
    },
    interrupt,
    shut(reason) {
      shutFor = reason;
      interrupt(reason);
    },
    reopen() {
      shutFor = undefined;
    },
  };
}

/** The same calls, each in flight while it lasts. */
export function trackCalls(calls: CallTable, inFlight: InFlight): CallTable {
  const tracked = Object.entries(calls).map(([name, call]) => [name, call && trackCall(call, inFlight)]);
  return Object.fromEntries(tracked);
}

function trackCall(call: NonNullable<CallTable[string]>, inFlight: InFlight) {
  return (request: never, { signal }: CallContext) => {
    const open = inFlight.enter(signal);
    const answer = call(request, { signal: open.signal });
    return Symbol.asyncIterator in answer ? readWhileOpen(answer, open) : answer.finally(open.leave);
  };
}

async function* readWhileOpen(messages: AsyncIterable<unknown>, open: OpenCall): AsyncGenerator<unknown> {
  try {
    yield* messages;
    // A subscription just ends when it is broken off: its reader shall know that there was more.
    open.signal.throwIfAborted();
  } finally {
    open.leave();
  }
}
