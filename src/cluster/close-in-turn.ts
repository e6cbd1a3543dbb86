/** Closes one after another, whatever becomes of those before; the first failure is thrown at the end. */
export async function closeInTurn(...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of steps) await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** Ends a start that did not come to its end, and throws why. Whoever has stopped it hears of what could not be closed. */
export async function closeAfter(
  error: unknown,
  { isStop, close }: { readonly isStop: boolean; close(): Promise<void> },
): Promise<never> {
  const closing = close();
  await (isStop ? closing : closing.catch(() => {}));
  throw error;
}
