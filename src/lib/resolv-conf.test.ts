import { describe, expect, test } from "vitest";
import { parseResolvConf } from "./resolv-conf.ts";

describe("parse-resolv-conf", () => {
  test.each([
    ["", { servers: [], searches: [], options: [] }],
    [
      "# made by hand\n;other\nnameserver 1.2.3.4\n nameserver\tfd00::1 \n",
      { servers: ["1.2.3.4", "fd00::1"], searches: [], options: [] },
    ],
    ["search a b\nsearch c. . d\n", { servers: [], searches: ["c", "d"], options: [] }],
    [
      "options ndots:1 rotate\noptions ndots:5",
      { servers: [], searches: [], options: ["ndots:5", "rotate"] },
    ],
  ])("%j", (text, config) => {
    expect(parseResolvConf(text)).toEqual(config);
  });

  test("rejects a server without an address", () => {
    expect(() => parseResolvConf("nameserver")).toThrow("nameserver list is empty");
  });
});
