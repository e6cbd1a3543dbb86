import { expect, test } from "vitest";
import { newEventKind } from "../../api/kinds/core/event/kind.ts";
import { nodeKind } from "../../api/kinds/core/node/kind.ts";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import { clusterRoleKind } from "../../api/kinds/rbac/cluster-role/kind.ts";
import { keyPrefix, objectKey, storageNameOf } from "./object-key.ts";

const pods = podKind.resource;
const nodes = nodeKind.resource;
const clusterRoles = clusterRoleKind.resource;
const newEvents = newEventKind.resource;

test.each([
  [pods, "default", "web-0", "/registry/core/pods/default/web-0"],
  [nodes, "", "node-1", "/registry/core/nodes/node-1"],
  [clusterRoles, "", "system:node", "/registry/rbac.authorization.k8s.io/clusterroles/system:node"],
  [newEvents, "default", "e", "/registry/core/events/default/e"],
])("keys", (resource, namespace, name, key) => {
  expect(objectKey(resource, namespace, name)).toBe(key);
  expect(storageNameOf(key)).toBe(resource.storedAs);
  expect(key.startsWith(keyPrefix(resource, namespace))).toBe(true);
});

test.each(["../secrets/x", "a/b", "a%2fb", "ä", "", " "])(
  "the name %j leads to no other object's key",
  (name) => {
    const key = objectKey(pods, "default", name);
    expect(key.slice(keyPrefix(pods, "default").length)).not.toContain("/");
    expect(key).toMatch(/^[\x21-\x7e]*$/);
  },
);
