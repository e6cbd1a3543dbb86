import { expect, test } from "vitest";
import { createAddressPool } from "./state.ts";

test("allocates every address once, and reuses a released one after all others", () => {
  const pool = createAddressPool("10.1.2.0/29");
  const addresses = Array.from({ length: 5 }, () => pool.take());
  expect(addresses).toEqual(["10.1.2.2", "10.1.2.3", "10.1.2.4", "10.1.2.5", "10.1.2.6"]);
  expect(pool.take()).toBeUndefined();
  pool.release("10.1.2.4");
  pool.release("10.1.2.2");
  expect([pool.take(), pool.take(), pool.take()]).toEqual(["10.1.2.2", "10.1.2.4", undefined]);
});

test("allocates from another block after a change", () => {
  const pool = createAddressPool("10.0.0.0/8");
  expect(pool.take()).toBe("10.0.0.2");
  pool.move("10.244.3.7/24");
  expect(pool.take()).toBe("10.244.3.2");
  pool.move("10.244.3.0/24");
  expect(pool.take()).toBe("10.244.3.3");
  expect(pool.taken()).toBe(3);
});

test.each(["", "10.0.0.0", "10.0.0.0/30", "300.0.0.0/8", "fd00::/64", "10.0.0/8"])(
  "rejects the CIDR %j",
  (cidr) => {
    expect(() => createAddressPool(cidr)).toThrow(/write it like 10\.244\.0\.0\/16/);
  },
);
