import { expect, test } from "vitest";
import { isLocalHost, isLoopback } from "./loopback.ts";

test.each([
  ["127.0.0.1", true],
  ["127.8.9.1", true],
  ["::1", true],
  ["localhost", true],
  ["LOCALHOST", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["localhost.example.com", false],
  ["127.0.0.1.example.com", false],
  ["", false],
])("%s is loopback: %s", (host, is) => {
  expect(isLoopback(host)).toBe(is);
});

test.each([
  ["localhost:6480", true],
  ["localhost", true],
  ["127.0.0.1:6480", true],
  ["[::1]:6480", true],
  ["dev.internal:6480", true],
  ["evil.example.com", false],
  ["evil.example.com:6480", false],
  ["localhost.evil.example.com", false],
  ["localhost:6480@evil.example.com", false],
  ["[::1].evil.example.com", false],
  ["[fe80::1]:6480", false],
  ["", false],
  [undefined, false],
])("the Host header %s is local: %s", (host, is) => {
  expect(isLocalHost(host, "dev.internal")).toBe(is);
});
