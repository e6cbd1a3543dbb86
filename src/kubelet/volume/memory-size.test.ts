import { expect, test } from "vitest";
import { makePod } from "../container/make-pod.fixture.ts";
import { memoryVolumeBytes } from "./memory-size.ts";

const mi = 2 ** 20;
const limited = (name: string, memory?: string, restartPolicy?: string) => ({
  name,
  image: "i",
  ...(memory && { resources: { limits: { memory } } }),
  ...(restartPolicy && { restartPolicy }),
});

test.each([
  ["nothing is known", {}, {}, undefined],
  ["the node", {}, { allocatable: "64Mi" }, 64 * mi],
  ["its own limit", {}, { allocatable: "64Mi", sizeLimit: "8Mi" }, 8 * mi],
  ["a limit above the node's", {}, { allocatable: "64Mi", sizeLimit: "1Gi" }, 64 * mi],
  ["a limit of zero", {}, { allocatable: "64Mi", sizeLimit: "0" }, 64 * mi],
  ["the containers", { containers: [limited("a", "10Mi"), limited("b", "20Mi")] }, {}, 30 * mi],
  ["a container without a limit", { containers: [limited("a", "10Mi"), limited("b")] }, {}, undefined],
  [
    "a large init container",
    { initContainers: [limited("i", "50Mi")], containers: [limited("a", "10Mi")] },
    {},
    50 * mi,
  ],
  [
    "a sidecar beside the others",
    {
      initContainers: [limited("s", "5Mi", "Always"), limited("i", "50Mi")],
      containers: [limited("a", "10Mi")],
    },
    {},
    55 * mi,
  ],
  [
    "the pod's own limit and its overhead",
    { containers: [limited("a")], resources: { limits: { memory: "7Mi" } }, overhead: { memory: "1Mi" } },
    {},
    8 * mi,
  ],
])("the size of a volume in memory: %s", (_name, spec, facts, bytes) => {
  expect(memoryVolumeBytes({ pod: makePod(spec), ...facts })).toBe(bytes);
});
