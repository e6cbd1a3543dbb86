import type { Pod, PodCondition } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";

/** A pod of the same name that is another one by now is a conflict. */
export async function writePodCondition(
  client: Client,
  { metadata: { namespace, name = "", uid } }: Pod,
  { condition, signal }: { readonly condition: PodCondition; readonly signal: AbortSignal },
): Promise<void> {
  const body = { metadata: { uid }, status: { conditions: [condition] } };
  const patch = { kind: "strategic", body } as const;
  await client.patch("pods", { namespace, name }, { patch, subresource: "status", signal });
}
