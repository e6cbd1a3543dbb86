import { expect, test } from "vitest";
import { parseListenAddress } from "./common-options.ts";

test.each([
  ["127.0.0.1:6443", { host: "127.0.0.1", port: 6443 }],
  ["[::1]:0", { host: "::1", port: 0 }],
  ["localhost:80", { host: "localhost", port: 80 }],
  [":6443", { host: "0.0.0.0", port: 6443 }],
])("%s is read", (text, address) => {
  expect(parseListenAddress(text)).toEqual(address);
});

test.each(["", "6443", "localhost", "localhost:", "localhost:http", "::1:6443", "localhost:70000"])(
  "%j is refused",
  (text) => {
    expect(() => parseListenAddress(text)).toThrow(/HOST:PORT/);
  },
);
