import { describe, expect, test } from "vitest";
import { hashContainer } from "./container-hash.ts";

describe("hashContainer", () => {
  test("is upstream's number", () => {
    // The sample and the value of upstream's own test.
    expect(hashContainer({ name: "test_container", image: "foo/image:v1" })).toBe("8e45cbd0");
  });

  test("changes with name and image and nothing else", () => {
    const container = { name: "web", image: "nginx:1" };
    expect(hashContainer({ ...container, ...{ command: ["sh"] } })).toBe(hashContainer(container));
    expect(hashContainer({ ...container, image: "nginx:2" })).not.toBe(hashContainer(container));
    expect(hashContainer({ ...container, name: "db" })).not.toBe(hashContainer(container));
    expect(hashContainer({ name: "web" })).not.toBe(hashContainer(container));
  });
});
