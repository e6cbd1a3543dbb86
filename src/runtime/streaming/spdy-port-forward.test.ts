import { expect, test } from "vitest";
import { readPortForwardHeaders } from "./spdy-port-forward.ts";

test.each<[string, number, Record<string, string>, object | undefined]>([
  [
    "a data stream",
    3,
    { streamtype: "data", port: "80", requestid: "7" },
    { type: "data", port: 80, requestId: "7" },
  ],
  [
    "the error stream of an old client has its own number",
    1,
    { streamtype: "error", port: "65535" },
    { type: "error", port: 65_535, requestId: "1" },
  ],
  [
    "the data stream of an old client follows its error stream",
    3,
    { streamtype: "data", port: "1" },
    { type: "data", port: 1, requestId: "1" },
  ],
  ["another type", 1, { streamtype: "stdin", port: "80" }, undefined],
  ["no type", 1, { port: "80" }, undefined],
  ["no port", 1, { streamtype: "data" }, undefined],
  ["port 0", 1, { streamtype: "data", port: "0" }, undefined],
  ["a port that is too large", 1, { streamtype: "data", port: "65536" }, undefined],
  ["a port that is not a number", 1, { streamtype: "data", port: "0x50" }, undefined],
])("%s", (_, id, headers, expected) => {
  expect(readPortForwardHeaders({ id, headers: new Map(Object.entries(headers)) })).toEqual(expected);
});
