import { expect, test } from "vitest";
import { defaultFeatures } from "../api/meta/feature-gates.ts";
import { readOptions } from "./read-options.ts";
import type { TestClusterOptions } from "./test-cluster.ts";

test("defaults to one simulated node, a store in memory and any port of loopback", () => {
  expect(readOptions({}, false)).toMatchObject({
    nodes: 1,
    runtime: { kind: "simulated" },
    store: { kind: "memory" },
    listen: { host: "127.0.0.1", port: 0 },
    features: defaultFeatures,
  });
});

test("adds feature gates to the defaults", () => {
  const { features } = readOptions({ features: { ImagePullProgress: false } }, false);
  expect(features).toEqual({ ...defaultFeatures, ImagePullProgress: false });
});

test("selects real containers", () => {
  expect(readOptions({ runtime: "real" }, true)).toMatchObject({
    runtime: { kind: "own", driver: "auto" },
    ephemeral: true,
  });
});

test.each<[unknown, RegExp]>([
  [{ nodes: 0 }, /^nodes: 0 is not a whole number/],
  [{ nodes: 1.5 }, /^nodes: 1.5 is not a whole number/],
  [{ runtime: "docker" }, /^runtime: "docker" is neither/],
  [{ runtime: "real", nodes: 2 }, /^nodes: 2 need runtime: "simulated"/],
  [{ runtime: "real", handlers: ["kata"] }, /^handlers: only simulated nodes/],
  [{ runtime: "real" }, /^runtime: "real" needs root/],
  [{ features: { Nothing: true } }, /Nothing/],
])("rejects %j", (options, message) => {
  expect(() => readOptions(options as TestClusterOptions, false)).toThrow(message);
});
