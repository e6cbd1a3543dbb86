import { expect, test } from "vitest";
import { parsePodLogOptions } from "./pod-log-options.ts";

function parse(query: string) {
  return parsePodLogOptions("web", new URLSearchParams(query));
}

test.each([
  ["", { container: "", skipVerify: false }, ""],
  ["container=a&insecureSkipTLSVerifyBackend=true", { container: "a", skipVerify: true }, ""],
  ["follow=true&previous=1&timestamps=", {}, "follow=true&previous=true&timestamps=true"],
  ["follow=false&previous=0&timestamps=False", {}, ""],
  ["tailLines=0&limitBytes=5&sinceSeconds=60", {}, "sinceSeconds=60&tailLines=0&limitBytes=5"],
  ["sinceTime=2026-01-01T01:00:00.5%2B01:00", {}, "sinceTime=2026-01-01T00%3A00%3A00Z"],
  ["sinceTime=null&other=1", {}, ""],
])("%j", (query, expected, kubeletQuery) => {
  const options = parse(query);
  expect(options).toMatchObject(expected);
  expect(options.query.toString()).toBe(kubeletQuery);
});

test.each([
  ["tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
  [
    "limitBytes=99999999999999999999",
    400,
    'strconv.ParseInt: parsing "99999999999999999999": value out of range',
  ],
  ["sinceTime=now", 400, 'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"'],
  [
    "tailLines=-1",
    422,
    'PodLogOptions "web" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    "limitBytes=0",
    422,
    'PodLogOptions "web" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
  ],
  [
    "sinceSeconds=0",
    422,
    'PodLogOptions "web" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
  ],
  [
    "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
    422,
    'PodLogOptions "web" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
  ],
  ["stream=Stdout", 422, 'PodLogOptions "web" is invalid: stream: Forbidden: may not be specified'],
])("%j is refused", (query, code, message) => {
  expect(() => parse(query)).toThrow(expect.objectContaining({ code, message }));
});
