import { expect, test } from "vitest";
import { findOrphans } from "./find-orphans.ts";
import type { ObservedContainer, ObservedPod } from "./observed-pod.ts";

const preStop = { exec: { command: ["bye"] } };
const container = (name: string, more: Partial<ObservedContainer> = {}) =>
  ({ id: name, name, ...more }) as ObservedContainer;
const pod = (uid: string, containers: readonly ObservedContainer[] = []): ObservedPod => ({
  uid,
  namespace: "shop",
  name: uid,
  sandboxes: [],
  containers,
});

test("who is wanted is none", () => {
  const found = findOrphans([pod("wanted"), pod("left")], (uid) => uid === "wanted");
  expect(found.map(({ metadata }) => metadata)).toEqual([{ uid: "left", namespace: "shop", name: "left" }]);
});

test("one is ended as the newest of its containers were to be", () => {
  const containers = [
    container("web", { graceSeconds: 5, preStop, ports: [{ name: "http", containerPort: 80 }] }),
    container("log", { graceSeconds: 5 }),
    container("web", { graceSeconds: 60 }),
  ];
  expect(findOrphans([pod("left", containers)], () => false)[0]?.spec).toEqual({
    terminationGracePeriodSeconds: 5,
    containers: [
      { name: "web", ports: [{ name: "http", containerPort: 80 }], lifecycle: { preStop } },
      { name: "log" },
    ],
  });
});
