import { describe, expect, test } from "vitest";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { formatQuantity } from "../../api/meta/quantity.ts";
import { containerTotals, podResources } from "../../api/pod/pod-resources.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { qosClass } from "./linux-resources.ts";

const fixed = { limits: { cpu: "1", memory: "1Gi" } };
const with_ = (...resources: Container["resources"][]): Pod =>
  makePod({ containers: resources.map((each, i) => ({ name: `c${i}`, resources: each })) });

describe("qosClass", () => {
  test.each([
    ["no security context", with_({}), "BestEffort"],
    ["limits for all", with_(fixed, fixed), "Guaranteed"],
    ["limits for one of two", with_(fixed, {}), "Burstable"],
    ["limits for one resource", with_({ limits: { cpu: "1" } }), "Burstable"],
    ["requests below limits", with_({ ...fixed, requests: { cpu: "500m" } }), "Burstable"],
    ["other resources only", with_({ limits: { "hugepages-2Mi": "2Mi" } }), "BestEffort"],
    ["the pod's own", makePod({ containers: [{ name: "c" }], resources: fixed }), "Guaranteed"],
    [
      "an init container without",
      makePod({
        containers: [{ name: "c", resources: fixed }],
        initContainers: [{ name: "i" }],
      }),
      "Burstable",
    ],
    ["what the API server wrote", { ...with_(fixed), status: { qosClass: "BestEffort" } }, "BestEffort"],
  ])("%s", (_, pod, expected) => {
    expect(qosClass(pod)).toBe(expected);
  });
});

describe("totals", () => {
  const cpu = (amount: string, name: string, rest: Partial<Container> = {}): Container => ({
    name,
    resources: { requests: { cpu: amount } },
    ...rest,
  });
  const sidecar = { restartPolicy: "Always" };

  test.each([
    ["containers add up", [cpu("1", "a"), cpu("500m", "b")], [], "1500m"],
    ["an init container that needs more counts alone", [cpu("1", "a")], [cpu("3", "i")], "3"],
    ["an init container that needs less does not count", [cpu("4", "a")], [cpu("3", "i")], "4"],
    ["sidecars run beside the containers", [cpu("1", "a")], [cpu("2", "s", sidecar)], "3"],
    ["and beside later init containers", [cpu("1", "a")], [cpu("2", "s", sidecar), cpu("4", "i")], "6"],
    ["but not earlier ones", [cpu("1", "a")], [cpu("4", "i"), cpu("2", "s", sidecar)], "4"],
  ])("%s", (_, containers, initContainers, total) => {
    const amounts = containerTotals({ containers, initContainers }, "requests");
    expect([...amounts].map(([name, amount]) => `${name} ${formatQuantity(amount)}`)).toEqual([
      `cpu ${total}`,
    ]);
  });

  test("pod-level values take precedence over the sum", () => {
    const spec = { containers: [cpu("1", "a")], resources: { requests: { cpu: "2", storage: "1" } } };
    const amounts = podResources(spec, "requests");
    expect([...amounts].map(([name, amount]) => `${name} ${formatQuantity(amount)}`)).toEqual(["cpu 2"]);
  });
});
