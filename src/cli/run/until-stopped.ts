/** Runs a function and aborts it on SIGINT or SIGTERM. A second signal exits the process immediately. */
export async function untilStopped(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(new Error("stopped by a signal"));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  try {
    await run(stop.signal);
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

/** Like untilStopped, for servers: being stopped by a signal is not an error. */
export function serveUntilStopped(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  return untilStopped((signal) =>
    run(signal).catch((error: unknown) => {
      if (!signal.aborted || error !== signal.reason) throw error;
    }),
  );
}
