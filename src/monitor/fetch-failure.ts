/** Why a `fetch` failed: `fetch failed`, which it says itself, says nothing. */
export function fetchFailure(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  return cause instanceof Error ? cause.message || String(cause) : message;
}
