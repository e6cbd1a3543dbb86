import { expect, test } from "vitest";
import { lacksSandboxCondition } from "./lacks-condition.ts";
import { sketchPod } from "./start.fixture.ts";

test.each([
  ["ready without it", { ready: "True 15:33:50" }, true],
  ["ready with it", { ready: "True 15:33:50", sandbox: "True 15:33:48" }, false],
  ["not ready yet", { ready: "False 15:33:50" }, false],
  ["nothing told yet", {}, false],
  [
    "ready, with the name that it had before 1.28",
    {
      ready: "True 15:33:50",
      conditions: [{ type: "PodHasNetwork", status: "True", lastTransitionTime: "2022-12-06T15:33:48Z" }],
    },
    true,
  ],
])("a pod that is %s lacks it: %s", (_, sketch, is) => {
  expect(lacksSandboxCondition(sketchPod(sketch))).toBe(is);
});
