import { expect, test } from "vitest";
import { createStartTimes } from "./start-times.ts";

const container = { name: "c", image: "web:1" };

test("starts are kept by namespace, container and image", () => {
  const times = createStartTimes();
  times.note("shop", container, 10);
  times.note("shop", container, 20);
  times.note("shop", { ...container, image: "web:2" }, 30);
  times.note("shop", { ...container, name: "d" }, 40);
  times.note("bank", container, 50);
  expect(times.of("shop", container)).toEqual([10, 20]);
  expect(times.of("bank", container)).toEqual([50]);
  expect(times.of("bank", { ...container, image: "web:2" })).toEqual([]);
});

test("the newest count, and what was not asked for the longest is forgotten", () => {
  const times = createStartTimes();
  for (let start = 0; start < 60; start++) times.note("shop", container, start);
  expect(times.of("shop", container)).toEqual(Array.from({ length: 50 }, (_, i) => i + 10));
  for (let other = 0; other < 500; other++) times.note("shop", { name: "c", image: `other:${other}` }, 1);
  expect(times.of("shop", container)).toEqual([]);
});
