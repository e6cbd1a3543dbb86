import { expect, test } from "vitest";
import type { ContainerScript } from "../scripts/scripts.ts";
import { decideExec } from "./exec-calls.ts";

const slowStart = [{ untilMs: 3_000, exitCode: 1, stdout: "not yet" }, { stdout: "ok" }];

test.each<[string, ContainerScript["exec"], number, object]>([
  ["no script", undefined, 0, {}],
  ["the first step", slowStart, 2_999, { exitCode: 1, stdout: "not yet" }],
  ["the next step", slowStart, 3_000, { stdout: "ok" }],
  ["all steps expired", [{ untilMs: 10, exitCode: 1 }], 10, {}],
  [
    "a function",
    ({ command, sinceStartMs }) => ({ stdout: `${command} ${sinceStartMs}` }),
    7,
    { stdout: "true 7" },
  ],
])("%s", (_name, script, sinceStartMs, expected) => {
  expect(decideExec(script, { command: ["true"], sinceStartMs })).toMatchObject(expected);
});
