/** A wait that somebody may end before its time. */
export function createWakeableSleep() {
  let wakeSleeper = () => {};
  return {
    wake: () => wakeSleeper(),
    sleep: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          wakeSleeper = () => {};
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal.addEventListener("abort", end);
        wakeSleeper = end;
      }),
  };
}
