import { status } from "@grpc/grpc-js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { failure } from "./failure.ts";
import {
  bytesAt,
  endingOf,
  findImage,
  type ImageStore,
  imageOf,
  layersAt,
  nameImage,
  nextReportAt,
  type PullPlan,
  timeOfByte,
} from "./image-store.ts";

test("finds an image by reference, digest, id and id prefix", () => {
  const image = imageOf("busybox:1.36", 5);
  const images: ImageStore = new Map([[image.id, image]]);
  const [byDigest = ""] = image.repoDigests;
  const names = [
    "busybox:1.36",
    "docker.io/library/busybox:1.36",
    byDigest,
    image.id,
    image.id.slice("sha256:".length),
    image.id.slice(0, 20),
  ];
  for (const name of names) expect(findImage(images, name), name).toBe(image);
  for (const name of ["busybox", "", "sha256:", "NO NAME"]) expect(findImage(images, name)).toBeUndefined();
});

const digest = `sha256:${"ab".repeat(32)}`;

test.each([
  ["busybox", "docker.io/library/busybox", "latest"],
  ["127.0.0.1:5000/app", "127.0.0.1:5000/app", "latest"],
  [`quay.io/a/b:tag@${digest}`, "quay.io/a/b", ""],
])("%s", (text, repository, tag) => {
  expect(nameImage(text)).toMatchObject({ repository, tag });
});

test("digests are deterministic, differ by name, and are kept if given", () => {
  expect(nameImage("busybox").digest).toBe(nameImage("docker.io/library/busybox:latest").digest);
  expect(nameImage("busybox").digest).not.toBe(nameImage("busybox:1").digest);
  expect(nameImage(`busybox@${digest}`).digest).toBe(digest);
});

test.each(["", "Upper", "busybox@sha256:12", "x".repeat(600)])("rejects the name %j", (text) => {
  expect(() => nameImage(text)).toThrow(/is not an image reference/);
});

const forever = Number.POSITIVE_INFINITY;
const layers = [
  { digest: "a", size: 600, exists: false },
  { digest: "b", size: 400, exists: false },
];
/** 1,000 bytes at 1 byte/ms after 100 ms. */
const steady: PullPlan = { layers, total: 1_000, startMs: 100, bytesPerMs: 1, unpackMs: 0 };
const stalling: PullPlan = { ...steady, stall: { atByte: 500, ms: 2_000 } };
const instant: PullPlan = { ...steady, startMs: 0, bytesPerMs: forever };
const error = failure(status.NOT_FOUND, "gone");

test.each<[string, PullPlan, number, number]>([
  ["before the start", steady, 99, 0],
  ["at the start", steady, 100, 0],
  ["in progress", steady, 350, 250],
  ["complete", steady, 1_100, 1_000],
  ["no more than the total", steady, 9_999, 1_000],
  ["up to the stall", stalling, 600, 500],
  ["during the stall", stalling, 2_599, 500],
  ["after the stall", stalling, 2_700, 600],
  ["immediately", instant, 0, 1_000],
  ["immediately up to the stall", { ...instant, stall: { atByte: 300, ms: forever } }, 5_000, 300],
  ["a registry that never responds", { ...instant, stall: { atByte: 0, ms: forever } }, 5_000, 0],
])("bytes: %s", (_name, plan, atMs, expected) => {
  expect(bytesAt(plan, atMs)).toBe(expected);
});

test("a byte arrives at its time, not earlier", () => {
  const rate = fc.double({ min: 0.001, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(
      rate,
      fc.integer({ min: 1, max: 1_000 }),
      fc.integer({ min: 0, max: 1_000 }),
      (bytesPerMs, byte, atByte) => {
        const plan = { ...steady, bytesPerMs, stall: { atByte, ms: 50 } };
        expect(bytesAt(plan, timeOfByte(plan, byte))).toBeGreaterThanOrEqual(byte);
        expect(bytesAt(plan, timeOfByte(plan, byte) - 1.001 / bytesPerMs)).toBeLessThan(byte + 1);
      },
    ),
  );
});

describe("3542-4 the outcome", () => {
  test.each<[string, PullPlan, number, object]>([
    ["all bytes", steady, 0, { kind: "done", atMs: 1_100 }],
    ["unpacking after the last byte", { ...steady, unpackMs: 300 }, 0, { kind: "done", atMs: 1_400 }],
    [
      "unpacking does not count as a stall",
      { ...steady, unpackMs: 9_000 },
      1_000,
      { kind: "done", atMs: 10_100 },
    ],
    ["a stall below the timeout", stalling, 3_000, { kind: "done", atMs: 3_100 }],
    ["a stall above the timeout", stalling, 1_000, { kind: "stalled", atMs: 1_600 }],
    ["0 disables the timeout", stalling, 0, { kind: "done", atMs: 3_100 }],
    ["no response", { ...steady, startMs: 5_000 }, 1_000, { kind: "stalled", atMs: 1_000 }],
    ["stalls forever", { ...instant, stall: { atByte: 0, ms: forever } }, 0, { kind: "done", atMs: forever }],
    [
      "less than a byte within the timeout",
      { ...steady, bytesPerMs: 0.001 },
      500,
      { kind: "stalled", atMs: 600 },
    ],
    ["a failure", { ...steady, failure: { atByte: 0, error } }, 0, { kind: "failed", atMs: 100, error }],
    [
      "a failure in progress",
      { ...steady, failure: { atByte: 50, error } },
      0,
      { kind: "failed", atMs: 150, error },
    ],
    [
      "a stall before the failure",
      { ...stalling, failure: { atByte: 800, error } },
      500,
      { kind: "stalled", atMs: 1_100 },
    ],
    [
      "a stall after the last byte has no effect",
      { ...stalling, stall: { atByte: 1_000, ms: forever } },
      200,
      { kind: "done", atMs: 1_100 },
    ],
  ])("%s", (_name, plan, noProgressMs, expected) => {
    expect(endingOf(plan, noProgressMs)).toEqual(expected);
  });
});

test.each([
  ["time", { kind: "time", intervalMs: 300 }, { atMs: 300, offset: 200 }, 600],
  ["size", { kind: "size", intervalBytes: 300 }, { atMs: 400, offset: 300 }, 700],
  ["size: up to the last byte", { kind: "size", intervalBytes: 100 }, { atMs: 0, offset: 900 }, 1_100],
  [
    "size: no report beyond the total",
    { kind: "size", intervalBytes: 300 },
    { atMs: 0, offset: 900 },
    undefined,
  ],
  ["none", { kind: "none" }, { atMs: 0, offset: 0 }, undefined],
] as const)("3542-2 next report by %s", (_name, granularity, last, expected) => {
  expect(nextReportAt(steady, granularity, last)).toBe(expected);
});

test.each([
  [steady, 100, ["waiting", "waiting"]],
  [steady, 400, ["downloading", "waiting"]],
  [steady, 800, ["done", "downloading"]],
  [{ ...steady, unpackMs: 300 }, 1_200, ["unpacking", "unpacking"]],
  [{ ...steady, unpackMs: 300 }, 1_400, ["done", "done"]],
])("3542-3 stages", (plan, atMs, expected) => {
  const shown = layersAt(plan, atMs);
  expect(shown.map(({ stage }) => stage)).toEqual(expected);
  expect(shown.reduce((sum, { offset }) => sum + offset, 0)).toBe(bytesAt(plan, atMs));
});

test("3542-9 existing layers do not count", () => {
  const plan = {
    ...steady,
    total: 400,
    layers: layers.map((layer) => ({ ...layer, exists: layer.digest === "a" })),
  };
  expect(layersAt(plan, 300)).toEqual([
    { digest: "a", offset: 0, total: 0, stage: "exists" },
    { digest: "b", offset: 200, total: 400, stage: "downloading" },
  ]);
});
