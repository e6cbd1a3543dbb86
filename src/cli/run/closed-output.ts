let isStopping = false;

/** Ends the command when the reader of its output has exited (`kindling --help | head`, a closed terminal). */
export function stopWhenOutputCloses(): void {
  // Tests run several command lines in one process.
  for (const output of [process.stdout, process.stderr]) output.off("error", stopOnce).on("error", stopOnce);
}

/** Stops a server or the tour as SIGTERM does, and exits from other commands. A second SIGTERM would skip the clean-up. */
export function stopOnce(): void {
  if (isStopping) return;
  isStopping = true;
  if (process.listenerCount("SIGTERM") > 0) process.kill(process.pid, "SIGTERM");
  else process.exit(0);
}
