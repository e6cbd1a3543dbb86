import { expect, test } from "vitest";
import type { Node, Pod } from "../../../api/meta/objects.ts";
import type { UserInfo } from "../../request/user-info.ts";
import { rejectNodeRequest } from "./node-restriction.ts";
import type { NodeRestrictionDeps, NodeWrite } from "./restrict-pod.ts";

/** User of the kubelet that writes. */
export const n1: UserInfo = { username: "system:node:n1", groups: ["system:nodes"], extra: {} };

export const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "n1-uid", controller: true };
export function pod(nodeName: string, spec: object = {}, metadata: object = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "a", uid: "p-uid", ...metadata },
    spec: { nodeName, containers: [], ...spec },
  };
}
export const node = (metadata: object = {}, spec: object = {}): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1", uid: "n1-uid", ...metadata },
  spec,
});

/** The pod `p` runs on the node, `other` on another one. */
const deps: NodeRestrictionDeps = {
  pod: (_, name) =>
    ({
      p: pod("n1", {
        volumes: [
          {
            name: "t",
            projected: {
              sources: [
                { serviceAccountToken: { path: "t", audience: "vault" } },
                { serviceAccountToken: { path: "u" } },
              ],
            },
          },
        ],
      }),
      other: pod("n2"),
    })[name],
  node: (name) => (name === "n1" ? node() : undefined),
  authorize: ({ verb, resource }) => ({
    allowed: verb === "request-serviceaccounts-token-audience" && resource === "granted",
    reason: "",
  }),
};

/** Message of the rejection of a write. Default: creating the pod `p`. */
export function message(write: Partial<NodeWrite>, user = n1): string | undefined {
  const defaults = {
    user,
    operation: "CREATE",
    group: "",
    resource: "pods",
    subresource: "",
    namespace: "a",
    name: "p",
  } as const;
  return rejectNodeRequest({ ...defaults, ...write }, deps)?.message;
}

/** Tests rejections. Each row has a write and the expected message after the prefix. */
export function testRefusals(prefix: string, rows: [string, Partial<NodeWrite>, string | undefined][]): void {
  test.each(rows)("%s", (_, write, expected) => {
    expect(message(write)).toBe(expected === undefined ? undefined : `${prefix}${expected}`);
  });
}
