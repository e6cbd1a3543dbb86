import type { Pod, PodCondition } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";

/** Patches a condition of this very pod. Another pod of the same name causes a conflict. */
export async function writePodCondition(
  client: Client,
  { metadata: { namespace, name = "", uid } }: Pod,
  { condition, signal }: { readonly condition: PodCondition; readonly signal: AbortSignal },
): Promise<void> {
  const body = { metadata: { uid }, status: { conditions: [condition] } };
  const patch = { kind: "strategic", body } as const;
  await client.patch("pods", { namespace, name }, { patch, subresource: "status", signal });
}
