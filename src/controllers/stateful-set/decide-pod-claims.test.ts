import { describe, expect, test } from "vitest";
import { actionsOf, decide, makeClaim } from "./stateful-set.fixture.ts";

describe("claims", () => {
  const withClaims = { replicas: 1, claims: true };
  const deletion = { whenScaled: "Delete", whenDeleted: "Delete" };
  const owner = (kind: string, name: string, uid: string) => ({
    ownerReferences: [{ apiVersion: kind === "Pod" ? "v1" : "apps/v1", kind, name, uid, controller: true }],
  });
  test.each([
    ["are made before the pod", withClaims, [], [], ["claim data-web-0", "create 0 new"]],
    ["are taken as they are", withClaims, [], [makeClaim("data-web-0")], ["create 0 new"]],
    [
      "that are going are waited for",
      withClaims,
      [],
      [makeClaim("data-web-0", { deletionTimestamp: "x" })],
      ["fail pvc data-web-0 is being deleted", "create 0 new"],
    ],
    ["that a pending pod lacks are made", withClaims, ["0 new coming"], [], ["claim data-web-0"]],
    [
      "of a pod that is gone are not used again",
      { ...withClaims, retention: deletion },
      [],
      [makeClaim("data-web-0", owner("Pod", "web-0", "gone"))],
      [],
    ],
    [
      "get the owner of the policy",
      { ...withClaims, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0")],
      ["own data-web-0 StatefulSet"],
    ],
    [
      "lose it again",
      withClaims,
      ["0 new ready"],
      [makeClaim("data-web-0", owner("StatefulSet", "web", "set"))],
      ["own data-web-0 nobody"],
    ],
    [
      "go with a pod that is scaled away",
      { ...withClaims, replicas: 0, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0", owner("StatefulSet", "web", "set"))],
      ["own data-web-0 Pod", "delete 0 scaledDown"],
    ],
    [
      "of a stranger stay the stranger's",
      { ...withClaims, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0", owner("Backup", "b", "b"))],
      [],
    ],
  ] as const)("%s", (_, options, pods, claims, expected) => {
    expect(actionsOf(decide(options, pods, claims))).toEqual(expected);
  });
});
