import { expect, test } from "vitest";
import { formatResolvConf } from "./sandbox-files.ts";

test.each([
  [{ servers: [], searches: [], options: [] }, ""],
  [{ servers: ["10.0.0.10", "::1"], searches: [], options: [] }, "nameserver 10.0.0.10\nnameserver ::1\n"],
  [
    { servers: ["1.1.1.1"], searches: ["a.local", "b.local"], options: ["ndots:5", "edns0"] },
    "search a.local b.local\nnameserver 1.1.1.1\noptions ndots:5 edns0\n",
  ],
])("%j", (dns, text) => {
  expect(formatResolvConf(dns)).toBe(text);
});
