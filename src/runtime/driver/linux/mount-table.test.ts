import { expect, it } from "vitest";
import { findMount } from "./mount-table.ts";

const table = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda rw
30 22 0:30 / /data rw - tmpfs tmpfs rw
31 30 0:31 / /data/my\\040files rw shared:7 master:2 - tmpfs tmpfs rw
`;

it.each([
  ["/etc/passwd", "/", true],
  ["/data", "/data", false],
  ["/database", "/", true],
  ["/data/x/y", "/data", false],
  ["/data/my files/x", "/data/my files", true],
])("%s lies on %s", (path, point, shared) => {
  expect(findMount(path, table)).toEqual({ path: point, shared });
});
