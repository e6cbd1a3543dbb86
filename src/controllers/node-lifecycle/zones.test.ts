import { expect, test } from "vitest";
import { nodeOf } from "./node.fixture.ts";
import { createEvictionLimiter, evictionRateOf, isFullDisruption, zonesOf } from "./zones.ts";

const zone = (name: string, ready: number, lost: number) =>
  Array.from({ length: ready + lost }, (_, i) =>
    nodeOf({
      name: `${name}${i}`,
      ready: i < ready ? "True" : "Unknown",
      labels: { "topology.kubernetes.io/zone": name },
    }),
  );

test.each([
  ["all ready", zone("a", 3, 0), 0.1],
  ["one not ready", zone("a", 2, 1), 0.1],
  ["two of three not ready: below the threshold", zone("a", 1, 2), 0.1],
  ["most of a small zone not ready", zone("a", 2, 3), 0],
  ["most of a large zone not ready", zone("a", 20, 31), 0.01],
  ["all of one zone not ready, others ready", [...zone("a", 0, 5), ...zone("b", 5, 0)], 0.1],
  ["all zones not ready", [...zone("a", 0, 5), ...zone("b", 0, 5)], 0],
  ["the only node not ready", zone("a", 0, 1), 0],
])("%s", (_, nodes, rate) => {
  expect(evictionRateOf(zonesOf(nodes), "/a")).toBe(rate);
});

test("is no full disruption without nodes", () => {
  expect(isFullDisruption(zonesOf([]))).toBe(false);
  expect(isFullDisruption(zonesOf(zone("a", 0, 1)))).toBe(true);
  const excluded = nodeOf({ ready: "True", labels: { "node.kubernetes.io/exclude-disruption": "" } });
  expect(isFullDisruption(zonesOf([excluded, ...zone("a", 0, 1)]))).toBe(true);
});

test("limits the nodes of a zone to the given rate", () => {
  const limiter = createEvictionLimiter();
  expect(limiter.take("a", 0.1, 0)).toBe(0);
  expect(limiter.take("a", 0.1, 4_000)).toBe(6_000);
  expect(limiter.take("b", 0.1, 4_000)).toBe(0);
  expect(limiter.take("a", 0.1, 10_000)).toBe(0);
  expect(limiter.take("a", 0, 90_000)).toBe(Number.POSITIVE_INFINITY);
});
