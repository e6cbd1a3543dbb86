import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import type { ApiHandlerDeps } from "../handlers/api-handler.ts";
import { deleteCollection } from "../handlers/verbs/delete.ts";
import { listObjects } from "../handlers/verbs/list.ts";

/** User as whom the server deletes the objects of a deleted definition. */
const user = { username: "system:apiserver", groups: ["system:masters", "system:authenticated"], extra: {} };

/** Deletes all objects of a kind. Resolves with the number of those that remain because of finalizers. */
export async function deleteAllObjects(deps: ApiHandlerDeps, { resource }: KindDefinition): Promise<number> {
  const list = () =>
    listObjects(deps.reader, {
      resource,
      namespace: "",
      selector: { labels: [], fields: [] },
      options: { time: { kind: "latest" }, limit: undefined },
    });
  const { items, revision } = await list();
  if (items.length === 0) return 0;
  const going = items.filter((item) => item.view().metadata.deletionTimestamp === undefined);
  await deleteCollection(deps, { resource, items: going, revision, options: {}, user });
  return (await list()).items.length;
}
