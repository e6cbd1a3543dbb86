import { expect, test } from "vitest";
import { parsePullMessage } from "./pull-message.ts";

const of = (rest: string) => `Successfully pulled image "r.example/app:1" in ${rest}`;

test.each([
  [of("1.2s (3s including waiting). Image size: 1234 bytes."), 1.2, 1234],
  [of("350ms (350ms including waiting). Image size: 0 bytes."), 0.35, 0],
  [of("1m10s (1m10s including waiting)"), 70, undefined],
  [of("1h2m3.5s"), 3_723.5, undefined],
  [of("15.5µs (1s including waiting)"), 0.0000155, undefined],
  [of("0s (0s including waiting). Image size: 7 bytes."), 0, 7],
])("%s", (message, seconds, bytes) => {
  const pull = parsePullMessage(message);
  expect(pull).toMatchObject({ image: "r.example/app:1", bytes });
  expect(pull?.seconds).toBeCloseTo(seconds, 9);
});

test.each([
  ['Container image "app" already present on machine'],
  [of("soon (1s including waiting)")],
  [of("1s2 (1s including waiting)")],
  [of("-5s (1s including waiting)")],
  [""],
])("no pull: %s", (message) => {
  expect(parsePullMessage(message)).toBeUndefined();
});
