import { expect, test } from "vitest";
import { createLogger, type LogFormat, type LogLevel } from "./logger.ts";

function capture(format: LogFormat, level: LogLevel) {
  const lines: string[] = [];
  const destination = { write: (text: string) => lines.push(text) };
  return { lines, logger: createLogger({ format, level, destination }) };
}

test("json lines have time, level, component, message and fields", () => {
  const { lines, logger } = capture("json", "info");
  logger.component("apiserver").warn("slow request", { path: "/api", ms: 12 });
  const line = JSON.parse(lines[0] ?? "");
  expect(line).toMatchObject({
    level: "warn",
    component: "apiserver",
    msg: "slow request",
    path: "/api",
    ms: 12,
  });
  expect(Date.parse(line.time)).not.toBeNaN();
  expect(lines[0]?.endsWith("\n")).toBe(true);
});

test("json lines keep an error's message and stack", () => {
  const { lines, logger } = capture("json", "info");
  logger.error("failed", { error: new Error("disk full") });
  expect(JSON.parse(lines[0] ?? "").error).toMatchObject({ message: "disk full", stack: expect.any(String) });
});

test("text lines have a fixed order and end with one newline", () => {
  const { lines, logger } = capture("text", "debug");
  logger.component("store").debug("opened", { directory: "/tmp/x y", keys: 3 });
  logger.error("failed", { error: new Error("disk full") });
  expect(lines[0]).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} DEBUG {2}store {2}opened {2}directory="\/tmp\/x y" {2}keys=3\n$/,
  );
  expect(lines[1]).toMatch(/ERROR {2}failed {2}error="disk full"\n$/);
});

test("lines below the level are not written", () => {
  const { lines, logger } = capture("json", "warn");
  logger.debug("no");
  logger.info("no");
  logger.warn("yes");
  expect(lines).toHaveLength(1);
});

test("a newline in a field cannot forge a second line", () => {
  const { lines, logger } = capture("text", "info");
  logger.info("request", { user: "eve\n12:00:00.000 INFO  all is well" });
  expect(lines[0]?.split("\n")).toHaveLength(2);
});
