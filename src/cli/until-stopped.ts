/** Runs something until SIGINT or SIGTERM, lets it finish, and ends at once on a second signal. */
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

/** The same for what serves: to be stopped is how it ends, also while it is only starting. */
export function serveUntilStopped(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  return untilStopped((signal) =>
    run(signal).catch((error: unknown) => {
      if (!signal.aborted || error !== signal.reason) throw error;
    }),
  );
}
