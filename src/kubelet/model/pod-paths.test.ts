import { expect, test } from "vitest";
import { makePod } from "../containers/make-pod.fixture.ts";
import { containerLogPath, messagesDirectory, podDirectory, podLogDirectory } from "./pod-paths.ts";

test("paths equal those of upstream", () => {
  expect(podDirectory("/data", "u-1")).toBe("/data/pods/u-1");
  expect(messagesDirectory("/data", "u-1", "c")).toBe("/data/pods/u-1/containers/c");
  expect(podLogDirectory("/logs", makePod())).toBe("/logs/shop_web_u-1");
  expect(containerLogPath("c", 2)).toBe("c/2.log");
});

test.each(["", ".", "..", "../../etc", "a/b", "a\0b"])("uid %j names no directory", (uid) => {
  expect(() => podDirectory("/data", uid)).toThrow("is not a valid directory name");
});
