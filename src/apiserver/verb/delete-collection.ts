import type { DeleteOptions } from "../../api/objects.ts";
import type { Resource } from "../../api/resources.ts";
import { StatusError } from "../../api/status-error.ts";
import type { Answer } from "../api-request.ts";
import type { UserInfo } from "../auth/user-info.ts";
import type { CachedObject } from "../cache/cached-object.ts";
import { deleteObject } from "./delete.ts";
import type { WriteDeps } from "./write-deps.ts";

export interface DeleteCollectionRequest {
  readonly resource: Resource;
  readonly items: readonly CachedObject[];
  readonly revision: number;
  readonly options: DeleteOptions;
  readonly user: UserInfo;
}

/** How many deletes are under way at once: enough for the store to commit them together. */
const concurrency = 64;

/** Deletes each object of a list and answers with the list. */
export async function deleteCollection(deps: WriteDeps, request: DeleteCollectionRequest): Promise<Answer> {
  const { resource, items, revision, options, user } = request;
  const waiting = [...items];
  const worker = async () => {
    for (let object = waiting.pop(); object; object = waiting.pop()) {
      const { name = "", namespace = "" } = object.parse().metadata;
      await deleteObject(deps, { ref: { resource, namespace, name }, options, user }).catch(ignoreMissing);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { kind: "list", items, revision };
}

/** Somebody else deleted it first: that is what was wanted. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof StatusError) || error.code !== 404) throw error;
}
