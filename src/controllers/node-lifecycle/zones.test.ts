import { expect, test } from "vitest";
import { createEvictionLimiter } from "./eviction-limiter.ts";
import { nodeOf } from "./node.fixture.ts";
import { evictionRateOf, isAllLost, surveyZones } from "./zones.ts";

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
  ["one lost", zone("a", 2, 1), 0.1],
  ["two of three lost: too few to tell", zone("a", 1, 2), 0.1],
  ["most of a small zone lost", zone("a", 2, 3), 0],
  ["most of a large zone lost", zone("a", 20, 31), 0.01],
  ["all of one zone lost, others fine", [...zone("a", 0, 5), ...zone("b", 5, 0)], 0.1],
  ["all of all zones lost", [...zone("a", 0, 5), ...zone("b", 0, 5)], 0],
  ["the only node lost", zone("a", 0, 1), 0],
])("%s", (_, nodes, rate) => {
  expect(evictionRateOf(surveyZones(nodes), "/a")).toBe(rate);
});

test("all is lost only when there is something to lose", () => {
  expect(isAllLost(surveyZones([]))).toBe(false);
  expect(isAllLost(surveyZones(zone("a", 0, 1)))).toBe(true);
  const excluded = nodeOf({ ready: "True", labels: { "node.kubernetes.io/exclude-disruption": "" } });
  expect(isAllLost(surveyZones([excluded, ...zone("a", 0, 1)]))).toBe(true);
});

test("nodes of a zone come one after the other", () => {
  const limiter = createEvictionLimiter();
  expect(limiter.take("a", 0.1, 0)).toBe(0);
  expect(limiter.take("a", 0.1, 4_000)).toBe(6_000);
  expect(limiter.take("b", 0.1, 4_000)).toBe(0);
  expect(limiter.take("a", 0.1, 10_000)).toBe(0);
  expect(limiter.take("a", 0, 90_000)).toBe(Number.POSITIVE_INFINITY);
});
