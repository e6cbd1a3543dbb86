/** Closes all in order, even if some fail, and throws the first error at the end. */
export async function closeInTurn(...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of steps) await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** Closes a failed start and throws its error. If the start was stopped, an error from closing is thrown instead. */
export async function closeAfter(
  error: unknown,
  { isStop, close }: { readonly isStop: boolean; close(): Promise<void> },
): Promise<never> {
  const closing = close();
  await (isStop ? closing : closing.catch(() => {}));
  throw error;
}
