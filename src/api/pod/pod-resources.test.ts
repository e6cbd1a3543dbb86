import { describe, expect, test } from "vitest";
import type { Container, Pod, PodSpec } from "../meta/objects.ts";
import { formatQuantity, parseQuantity, type Quantity } from "../meta/quantity.ts";
import { containerTotals, hasPodResources, podRequests, podResources } from "./pod-resources.ts";

const container = (name: string, cpu: string | undefined, parts: Partial<Container> = {}): Container => ({
  name,
  ...(cpu && { resources: { requests: { cpu } } }),
  ...parts,
});
const sidecar = { restartPolicy: "Always" };
const pod = (spec: Partial<PodSpec>, status?: Pod["status"]): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [], ...spec },
  status,
});
const show = (amounts: ReadonlyMap<string, Quantity>) =>
  Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));

describe("requests of a pod", () => {
  test.each<[string, Partial<PodSpec>, string]>([
    ["containers together", { containers: [container("a", "1"), container("b", "500m")] }, "1500m"],
    [
      "an init container, if that is more",
      { containers: [container("a", "1")], initContainers: [container("i", "3")] },
      "3",
    ],
    [
      "sidecars with containers",
      { containers: [container("a", "1")], initContainers: [container("s", "2", sidecar)] },
      "3",
    ],
    [
      "an init container with the sidecars before it",
      {
        containers: [container("a", "1")],
        initContainers: [container("s", "1", sidecar), container("i", "4"), container("t", "1", sidecar)],
      },
      "5",
    ],
    [
      "what it asks for as a whole",
      { containers: [container("a", "3")], resources: { requests: { cpu: "2" } } },
      "2",
    ],
    ["overhead on top", { containers: [container("a", "1")], overhead: { cpu: "250m" } }, "1250m"],
  ])("%s", (_, spec, cpu) => expect(show(podRequests(pod(spec)))).toEqual({ cpu }));

  test("default requests of containers without requests", () => {
    const atLeast = new Map([["cpu", parseQuantity("100m")]]);
    const spec = { containers: [container("a", "1"), container("b", undefined)] };
    expect(show(podRequests(pod(spec), { atLeast }))).toEqual({ cpu: "1100m" });
  });

  test.each([
    ["the most of what is wanted, promised and in force", undefined, "3"],
    ["not an infeasible resize", "Infeasible", "2"],
  ])("while it is resized: %s", (_, reason, cpu) => {
    const status = {
      containerStatuses: [
        {
          name: "a",
          image: "",
          imageID: "",
          ready: true,
          restartCount: 0,
          resources: { requests: { cpu: "1" } },
          allocatedResources: { cpu: "2" },
        },
      ],
      conditions: reason ? [{ type: "PodResizePending", status: "True", reason }] : [],
    };
    expect(show(podRequests(pod({ containers: [container("a", "3")] }, status)))).toEqual({ cpu });
  });
});

test("limits are summed like requests, and overhead is separate", () => {
  const limited = { name: "a", resources: { limits: { memory: "1Gi" } } };
  const spec: PodSpec = { containers: [limited, { ...limited, name: "b" }], overhead: { memory: "1Mi" } };
  expect(show(containerTotals(spec, "limits"))).toEqual({ memory: "2Gi" });
  expect(
    show(podResources({ ...spec, resources: { limits: { memory: "3Gi", "example.com/x": "1" } } }, "limits")),
  ).toEqual({ memory: "3Gi" });
});

test.each([
  [{ requests: { cpu: "1" } }, true],
  [{ limits: { "hugepages-2Mi": "2Mi" } }, true],
  [{ requests: { "example.com/gpu": "1" } }, false],
  [undefined, false],
])("a pod with %j asks for something as a whole: %s", (resources, expected) => {
  expect(hasPodResources({ containers: [], resources })).toBe(expected);
});
