import { expect, it } from "vitest";
import { deviceNumbers } from "./gather-facts.ts";

it.each([
  [0x0103, 1, 3],
  [0x8801, 136, 1],
  [0x10_fd05, 253, 261],
  [0x1234_5678, 0x456, 0x1_2378],
])("device %i is %i:%i", (rdev, major, minor) => {
  expect(deviceNumbers(rdev)).toEqual({ major, minor });
});
