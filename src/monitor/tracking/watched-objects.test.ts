import { expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { sketchPod } from "../measure/start.fixture.ts";
import { createMissingConditionNotice, lacksSandboxCondition } from "./watched-objects.ts";

test.each([
  ["ready without it", { ready: "True 15:33:50" }, true],
  ["ready with it", { ready: "True 15:33:50", sandbox: "True 15:33:48" }, false],
  ["not ready yet", { ready: "False 15:33:50" }, false],
  ["without conditions", {}, false],
  [
    "ready, with the name that it had before 1.28",
    {
      ready: "True 15:33:50",
      conditions: [{ type: "PodHasNetwork", status: "True", lastTransitionTime: "2022-12-06T15:33:48Z" }],
    },
    true,
  ],
])("a pod that is %s lacks the condition: %s", (_, sketch, is) => {
  expect(lacksSandboxCondition(sketchPod(sketch))).toBe(is);
});

test("warns for the first pod only and ignores mirror pods", () => {
  const lacking = sketchPod({ ready: "True 15:33:50" });
  const mirror = sketchPod({ ready: "True 15:33:50" });
  mirror.metadata.annotations = { "kubernetes.io/config.mirror": "" };
  const lines: string[] = [];
  const warn = (message: string) => void lines.push(message);
  const notice = createMissingConditionNotice({ ...silentLogger, warn });
  notice(mirror);
  expect(lines).toEqual([]);
  notice(lacking);
  notice(lacking);
  expect(lines).toEqual([expect.stringContaining("without the condition PodReadyToStartContainers")]);
});
