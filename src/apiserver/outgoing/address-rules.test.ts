import { describe, expect, test } from "vitest";
import { checkHost, createLookup, isProxyable } from "./address-rules.ts";

const strict = { allowLoopback: false };
const oneMachine = { allowLoopback: true };

describe("isProxyable", () => {
  test.each(["10.0.0.1", "192.168.1.1", "8.8.8.8", "2001:db8::1", "fd00::1"])("%s always", (address) => {
    expect(isProxyable(address, strict)).toBe(true);
  });

  test.each(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])("%s on one machine", (address) => {
    expect(isProxyable(address, strict)).toBe(false);
    expect(isProxyable(address, oneMachine)).toBe(true);
  });

  test.each([
    "0.0.0.0",
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "fe80::1",
    "ff02::1",
  ])("%s never", (address) => {
    expect(isProxyable(address, oneMachine)).toBe(false);
  });
});

test("checkHost accepts names, which are checked when they are resolved", () => {
  expect(() => checkHost("169.254.169.254", oneMachine)).toThrow("address not allowed");
  expect(() => checkHost("example.invalid", strict)).not.toThrow();
});

describe("lookup", () => {
  const resolve = (rules: { allowLoopback: boolean }, all: boolean) =>
    new Promise<unknown>((done) => {
      createLookup(rules)("localhost", { all }, (error, address) => done(error ? error.message : address));
    });

  test("checks names by their addresses", async () => {
    expect(await resolve(strict, true)).toBe("address not allowed");
    expect(await resolve(oneMachine, true)).toContainEqual({ address: "127.0.0.1", family: 4 });
    expect(await resolve(oneMachine, false)).toEqual(expect.any(String));
  });
});
