import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { ObservedContainer, ObservedPod } from "../model/observed-pod.ts";
import { findOrphans, type OrphanOptions, terminateOrphans } from "./orphans.ts";

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

test("a pod of a source is not an orphan", () => {
  const found = findOrphans([pod("wanted"), pod("left")], (uid) => uid === "wanted");
  expect(found.map(({ metadata }) => metadata)).toEqual([{ uid: "left", namespace: "shop", name: "left" }]);
});

test("restores grace period and hooks from the newest containers", () => {
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

test("removes directories and logs of pods that neither a source nor the runtime knows", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "kindling-orphans-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  for (const directory of [
    "pods/wanted",
    "pods/gone/startup",
    "logs/shop_web_wanted",
    "logs/shop_web-0_gone/c",
  ])
    mkdirSync(join(dataDir, directory), { recursive: true });
  mkdirSync(join(dataDir, "logs/no-pod"));
  writeFileSync(join(dataDir, "logs/shop_web-0_gone/c/0.log"), "line");
  const tornDown: string[] = [];
  const removedCgroups: string[] = [];
  const options: OrphanOptions = {
    source: { synced: Promise.resolve() },
    ownership: { settled: Promise.resolve() },
    observer: { list: () => [] },
    workers: { has: (uid) => uid === "wanted", update: () => {} },
    volumes: { tearDown: async (uid) => void tornDown.push(uid) },
    cgroups: { remove: async (uid) => void removedCgroups.push(uid), sweep: async () => {} },
    dataDir,
    clock: createManualClock(),
    logger: silentLogger,
  };
  await terminateOrphans(options, new AbortController().signal);
  expect(readdirSync(join(dataDir, "pods"))).toEqual(["wanted"]);
  expect(readdirSync(join(dataDir, "logs")).sort()).toEqual(["no-pod", "shop_web_wanted"]);
  expect([tornDown, removedCgroups]).toEqual([["gone"], ["gone"]]);
});
