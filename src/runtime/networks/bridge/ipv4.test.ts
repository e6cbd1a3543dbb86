import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createAddressPool, parseSubnet } from "./ipv4.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kindling-addresses-"));
});
afterEach(() => rm(directory, { recursive: true }));

const subnet = parseSubnet("10.9.0.0/28");

test("allocates every address once, also with two daemons on one directory", async () => {
  const pools = [createAddressPool(directory), createAddressPool(directory)];
  const pods = Array.from({ length: 13 }, (_, i) => `pod-${i}`);
  const given = await Promise.all(pods.map((pod, i) => pools[i % 2]?.allocate(pod, subnet)));
  expect(new Set(given).size).toBe(13);
  expect(given).not.toContain("10.9.0.1");
  expect(given).not.toContain("10.9.0.15");
  await expect(pools[0]?.allocate("one-more", subnet)).rejects.toMatchObject({ code: "noAddress" });
  await pools[1]?.release("pod-3");
  expect(await pools[0]?.allocate("one-more", subnet)).toBe(given[3]);
  expect(await pools[0]?.podIds()).toHaveLength(13);
});

test("returns the existing address of a pod", async () => {
  const first = await createAddressPool(directory).allocate("a", subnet);
  expect(await createAddressPool(directory).allocate("a", subnet)).toBe(first);
  await createAddressPool(directory).release("never-was");
});
