/** Number of times per second that `act` resolves with this many concurrent `workers`. */
export async function ratePerSecond(
  workers: number,
  act: (worker: number) => Promise<unknown>,
  { forMs = 1_000 } = {},
): Promise<number> {
  const start = performance.now();
  let done = 0;
  const work = async (worker: number) => {
    while (performance.now() - start < forMs) {
      await act(worker);
      done++;
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  return (1_000 * done) / (performance.now() - start);
}
