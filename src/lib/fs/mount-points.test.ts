import { expect, test } from "vitest";
import { mountPointsBelow } from "./mount-points.ts";

test("lists mount points below a directory in unmount order", () => {
  const line = (point: string) => `30 20 0:30 / ${point} rw,relatime shared:9 - tmpfs tmpfs rw`;
  const info = [
    "/",
    "/pods/u-1/volumes/a",
    "/pods/u-1",
    "/pods/u-1/volumes/a/in\\040side\\134x",
    "/pods/u-1/volumes/a",
    "/pods/u-10/volumes/a",
    "/other/pods/u-1/volumes",
  ];
  expect(mountPointsBelow(`${info.map(line).join("\n")}\n`, "/pods/u-1")).toEqual([
    "/pods/u-1/volumes/a/in side\\x",
    "/pods/u-1/volumes/a",
    "/pods/u-1/volumes/a",
    "/pods/u-1",
  ]);
});
