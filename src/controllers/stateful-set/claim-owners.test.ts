import { describe, expect, test } from "vitest";
import { correctedOwners, hasOtherController, hasStaleReference } from "./claim-owners.ts";
import { makeClaim, makePod, makeSet } from "./stateful-set.fixture.ts";

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

describe("whom a claim goes with", () => {
  test.each([
    // whenScaled, whenDeleted, in range, owners now, owners wanted (undefined: they stay)
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
    // Somebody else is in charge: our own references go, no new one comes.
    ["Delete", "Delete", true, [byOther], undefined],
    ["Delete", "Delete", true, [byOther, bySet], ["b"]],
    // Left by a set of that name that is gone.
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

test("strangers and former owners are told apart", () => {
  const set = makeSet({ retention: { whenScaled: "Delete", whenDeleted: "Delete" } });
  const pod = makePod(set, "0 new ready");
  const claim = (...ownerReferences: (typeof bySet)[]) => makeClaim("data-web-0", { ownerReferences });
  expect(hasOtherController(claim(bySet, byPod), set, pod)).toBe(false);
  expect(hasOtherController(claim(byOther), set, pod)).toBe(true);
  expect(hasOtherController(claim(byOther), makeSet(), pod)).toBe(false);
  expect(hasStaleReference(claim(byFormerSet), set)).toBe(true);
  expect(hasStaleReference(claim(bySet), set)).toBe(false);
});
