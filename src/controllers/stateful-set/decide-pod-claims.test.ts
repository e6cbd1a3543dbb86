import { describe, expect, test } from "vitest";
import { correctedOwners, hasOtherController, hasStaleReference } from "./decide-pod-claims.ts";
import { actionsOf, decide, makeClaim, makePod, makeSet } from "./stateful-set.fixture.ts";

describe("claims", () => {
  const withClaims = { replicas: 1, claims: true };
  const deletion = { whenScaled: "Delete", whenDeleted: "Delete" };
  const owner = (kind: string, name: string, uid: string) => ({
    ownerReferences: [{ apiVersion: kind === "Pod" ? "v1" : "apps/v1", kind, name, uid, controller: true }],
  });
  test.each([
    ["are created before the pod", withClaims, [], [], ["claim data-web-0", "create 0 new"]],
    ["are used if they exist", withClaims, [], [makeClaim("data-web-0")], ["create 0 new"]],
    [
      "that are being deleted are waited for",
      withClaims,
      [],
      [makeClaim("data-web-0", { deletionTimestamp: "x" })],
      ["fail pvc data-web-0 is being deleted", "create 0 new"],
    ],
    ["that a pending pod lacks are created", withClaims, ["0 new creating"], [], ["claim data-web-0"]],
    [
      "of a deleted pod are not reused",
      { ...withClaims, retention: deletion },
      [],
      [makeClaim("data-web-0", owner("Pod", "web-0", "gone"))],
      [],
    ],
    [
      "get the owner that the policy requires",
      { ...withClaims, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0")],
      ["own data-web-0 StatefulSet"],
    ],
    [
      "lose it if the policy changes",
      withClaims,
      ["0 new ready"],
      [makeClaim("data-web-0", owner("StatefulSet", "web", "set"))],
      ["own data-web-0 none"],
    ],
    [
      "are owned by a pod that is scaled down",
      { ...withClaims, replicas: 0, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0", owner("StatefulSet", "web", "set"))],
      ["own data-web-0 Pod", "delete 0 scaledDown"],
    ],
    [
      "of another controller stay unchanged",
      { ...withClaims, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0", owner("Backup", "b", "b"))],
      [],
    ],
  ] as const)("%s", (_, options, pods, claims, expected) => {
    expect(actionsOf(decide(options, pods, claims))).toEqual(expected);
  });
});

const reference = (kind: string, name: string, uid: string, controller = true) => ({
  apiVersion: kind === "StatefulSet" ? "apps/v1" : "v1",
  kind,
  name,
  uid,
  controller,
});
const bySet = reference("StatefulSet", "web", "set");
const byPod = reference("Pod", "web-0", "uid-0");
const byOther = reference("Backup", "b", "b");
const byFormerSet = reference("StatefulSet", "web", "former");

describe("owner references of a claim", () => {
  test.each([
    // whenScaled, whenDeleted, in range, current owners, expected owners (undefined: unchanged)
    ["Retain", "Retain", true, [], undefined],
    ["Retain", "Retain", true, [bySet], []],
    ["Retain", "Retain", true, [byOther], undefined],
    ["Retain", "Retain", false, [byPod], []],
    ["Retain", "Delete", true, [], ["set"]],
    ["Retain", "Delete", true, [bySet], undefined],
    ["Retain", "Delete", false, [], ["set"]],
    ["Retain", "Delete", true, [{ ...bySet, controller: false }], ["set"]],
    ["Delete", "Retain", true, [], undefined],
    ["Delete", "Retain", true, [bySet], []],
    ["Delete", "Retain", false, [], ["uid-0"]],
    ["Delete", "Delete", true, [], ["set"]],
    ["Delete", "Delete", false, [bySet], ["uid-0"]],
    ["Delete", "Delete", false, [byPod], undefined],
    ["Delete", "Delete", true, [{ ...byOther, controller: false }], ["b", "set"]],
    // Another controller owns it: own references are removed and none is added.
    ["Delete", "Delete", true, [byOther], undefined],
    ["Delete", "Delete", true, [byOther, bySet], ["b"]],
    // Left by a deleted set of that name.
    ["Delete", "Delete", true, [byFormerSet], undefined],
  ])("%s %s %s %j", (whenScaled, whenDeleted, inRange, ownerReferences, expected) => {
    const set = makeSet({ replicas: inRange ? 1 : 0, claims: true, retention: { whenScaled, whenDeleted } });
    const owners = correctedOwners(
      makeClaim("data-web-0", { ownerReferences }),
      set,
      makePod(set, "0 new ready"),
    );
    expect(owners?.map(({ uid }) => uid)).toEqual(expected);
  });
});

test("distinguishes other controllers from former owners", () => {
  const set = makeSet({ retention: { whenScaled: "Delete", whenDeleted: "Delete" } });
  const pod = makePod(set, "0 new ready");
  const claim = (...ownerReferences: (typeof bySet)[]) => makeClaim("data-web-0", { ownerReferences });
  expect(hasOtherController(claim(bySet, byPod), set, pod)).toBe(false);
  expect(hasOtherController(claim(byOther), set, pod)).toBe(true);
  expect(hasOtherController(claim(byOther), makeSet(), pod)).toBe(false);
  expect(hasStaleReference(claim(byFormerSet), set)).toBe(true);
  expect(hasStaleReference(claim(bySet), set)).toBe(false);
});
