import { expect, test } from "vitest";
import { closestName } from "./closest-name.ts";

const known = ["port", "maxPods", "imagePullProgressType", "imagePullProgressInterval"];

test.each([
  ["maxPod", "maxPods"],
  ["maxpods", "maxPods"],
  ["ImagePullProgressType", "imagePullProgressType"],
  ["imagePullProgresInterval", "imagePullProgressInterval"],
  ["prot", undefined],
  ["pors", "port"],
  ["evictionHard", undefined],
  ["", undefined],
  ["x".repeat(100_000), undefined],
])("%s", (name, meant) => {
  expect(closestName(name, known)).toBe(meant);
});
