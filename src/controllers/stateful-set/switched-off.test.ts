import { expect, test } from "vitest";
import { defaultFeatures } from "../../api/feature-gates.ts";
import { makeSet } from "./stateful-set.fixture.ts";
import { switchedOff } from "./switched-off.ts";

test.each([
  ["RollingUpdate", false, undefined],
  ["OnDelete", false, undefined],
  ["EnforcedRollingUpdate", true, undefined],
  ["EnforcedRollingUpdate", false, /feature gate EnforcedRollingUpdateInStatefulSet is disabled$/],
  ["Recreate", true, undefined],
  ["Recreate", false, /uses Recreate strategy but feature gate StatefulSetRecreateStrategy is disabled$/],
  ["Blue", true, /does not know$/],
])("3541-9 %s with the gates %s", (type, enabled, expected) => {
  const features = {
    ...defaultFeatures,
    EnforcedRollingUpdateInStatefulSet: enabled,
    StatefulSetRecreateStrategy: enabled,
  };
  const message = switchedOff(makeSet({ type }), features);
  if (expected) expect(message).toMatch(expected);
  else expect(message).toBeUndefined();
});
