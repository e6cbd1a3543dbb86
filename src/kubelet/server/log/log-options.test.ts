import { expect, test } from "vitest";
import { parseLogOptions } from "./log-options.ts";

const now = Date.parse("2026-01-01T00:00:10Z");
const parse = (query: string) => parseLogOptions(new URLSearchParams(query), now);
const plain = {
  follow: false,
  previous: false,
  timestamps: false,
  sinceMs: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stream: "All",
};

test.each([
  ["", plain],
  ["follow=true&previous=1&timestamps", { ...plain, follow: true, previous: true, timestamps: true }],
  ["follow=false&timestamps=0", plain],
  ["tailLines=0&limitBytes=1", { ...plain, tailLines: 0, limitBytes: 1 }],
  ["tail=5", { ...plain, tailLines: 5 }],
  ["tail=all&tailLines=5", plain],
  ["sinceSeconds=4", { ...plain, sinceMs: now - 4_000 }],
  ["sinceTime=2026-01-01T01:00:00%2B01:00", { ...plain, sinceMs: now - 10_000 }],
  ["stream=Stderr", { ...plain, stream: "Stderr" }],
])("parses %j", (query, options) => {
  expect(parse(query)).toEqual(options);
});

test.each([
  ["tailLines=x", 400, "Unable to decode query."],
  ["tailLines=99999999999999999999", 400, "Unable to decode query."],
  ["sinceTime=yesterday", 400, "Unable to decode query."],
  ["tailLines=-1", 422, "Invalid request."],
  ["limitBytes=0", 422, "Invalid request."],
  ["sinceSeconds=0", 422, "Invalid request."],
  ["sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 422, "Invalid request."],
  ["stream=stdout", 422, "Invalid request."],
  ["stream=Stdout&tailLines=1", 422, "Invalid request."],
])("rejects %s with %i", (query, code, message) => {
  expect(() => parse(query)).toThrow(expect.objectContaining({ code, message: `{"message": "${message}"}` }));
});
