import { expect, test } from "vitest";
import { createEtcdKeys } from "./keys.ts";

const cases = [
  { name: "the keys of a prefix", keyPrefix: "", prefix: "/p/", key: "/p/", end: "/p0" },
  {
    name: "after a key of the prefix",
    keyPrefix: "",
    prefix: "/p/",
    after: "/p/a",
    key: "/p/a\0",
    end: "/p0",
  },
  {
    name: "after a key before the prefix",
    keyPrefix: "",
    prefix: "/p/",
    after: "/a",
    key: "/p/",
    end: "/p0",
  },
  { name: "a prefix that ends in the last character", keyPrefix: "", prefix: "/~", key: "/~", end: "/\x7f" },
  { name: "all keys", keyPrefix: "", prefix: "", key: "\0", end: "\0" },
  { name: "all keys after one", keyPrefix: "", prefix: "", after: "/a", key: "/a\0", end: "\0" },
  {
    name: "all keys of a store with a key prefix",
    keyPrefix: "/ours",
    prefix: "",
    key: "/ours",
    end: "/ourt",
  },
  {
    name: "within a store with a key prefix",
    keyPrefix: "/ours",
    prefix: "/p",
    after: "/pa",
    key: "/ours/pa\0",
    end: "/ours/q",
  },
];

test.each(cases)("range: $name", ({ keyPrefix, prefix, after, key, end }) => {
  const range = createEtcdKeys(keyPrefix).range(prefix, after);
  expect([range.key.toString(), range.rangeEnd.toString()]).toEqual([key, end]);
});

test("entries have keys without the prefix", () => {
  const keys = createEtcdKeys("/ours");
  const value = Buffer.from("v");
  const kv = { key: keys.toEtcd("/a"), value, createRevision: 2, modRevision: 5 };
  expect(kv.key.toString()).toBe("/ours/a");
  expect(keys.toEntry(kv)).toEqual({ key: "/a", value, revision: 5 });
});
