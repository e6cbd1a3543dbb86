import { RuntimeError } from "../runtime-error.ts";
import type { Records } from "../state/records.ts";

/** For calls that succeed when their object is already gone. An empty or ambiguous id is still an error. */
export function findOrMissing<T extends { readonly id: string }>(
  records: Pick<Records<T>, "find">,
  id: string,
): T | undefined {
  try {
    return records.find(id);
  } catch (error) {
    if (error instanceof RuntimeError && error.code === "notFound") return undefined;
    throw error;
  }
}
