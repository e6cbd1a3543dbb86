import type { CallContext, CallTable } from "../../cri/serve-call.ts";

/** Calls in progress, which a reboot, an outage or shutdown aborts. */
export interface InFlight {
  /** Registers a call and returns a signal that aborts with its caller or by `interrupt`. Throws while shut. */
  enter(signal: AbortSignal | undefined): OpenCall;
  interrupt(reason: Error): void;
  /** Aborts all calls and rejects new ones with this error. */
  shut(reason: Error): void;
  reopen(): void;
}

interface OpenCall {
  readonly signal: AbortSignal;
  leave(): void;
}

/** Abort reason after the end of a call, which releases its listeners. */
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

/** Wraps calls to register them while they are in progress. */
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
    // A subscription ends without an error when it is aborted; its reader must receive the error.
    open.signal.throwIfAborted();
  } finally {
    open.leave();
  }
}
