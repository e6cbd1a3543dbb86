import type { Node } from "../../api/objects.ts";
import { StatusError } from "../../api/status-error.ts";
import type { Client } from "../../client/client.ts";
import { registrationPatch } from "./node-patch.ts";

export interface Registration {
  readonly node: Node;
  /** The node as it was, had it been registered before. */
  readonly before: Node | undefined;
}

/** Makes the node, or brings the one that is there up to date: one round trip for a new node, up to three for another. */
export async function registerNode(
  client: Pick<Client, "create" | "get" | "patch">,
  /** The node as it should be, given what the API has of it. */
  build: (before: Node | undefined) => Node,
  signal: AbortSignal,
): Promise<Registration> {
  const node = build(undefined);
  try {
    return { node: await client.create("nodes", node, { signal }), before: undefined };
  } catch (error) {
    if (!(error instanceof StatusError) || !mayExist(error)) throw error;
  }
  const key = { name: node.metadata.name ?? "" };
  const before = await client.get("nodes", key, { signal });
  const body = registrationPatch(build(before), before);
  if (!body) return { node: before, before };
  const patch = { kind: "strategic", body } as const;
  // By way of the status, which takes labels and annotations too: one write for all.
  return { node: await client.patch("nodes", key, { subresource: "status", patch, signal }), before };
}

/** Whoever may not make nodes may still have one. */
function mayExist({ reason }: StatusError): boolean {
  return reason === "AlreadyExists" || reason === "Forbidden";
}
