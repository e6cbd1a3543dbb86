import type { Pod } from "../api/objects.ts";
import type { Client } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/status-errors.ts";

/** Takes a pod out of the API, at once. What is there under its name by now may be another pod: that one stays. */
export async function deletePod(
  client: Pick<Client, "delete">,
  { metadata }: Pod,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = "", name = "", uid = "" } = metadata;
  try {
    await client.delete(
      "pods",
      { namespace, name },
      { gracePeriodSeconds: 0, preconditions: { uid }, signal },
    );
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
