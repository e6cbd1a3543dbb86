import { expect, test } from "vitest";
import { sentences } from "../pod/pod.fixture.ts";
import { FieldErrors } from "./field-errors.ts";

test("field paths start at the given prefix", () => {
  const at = new FieldErrors("spec");
  at.required("");
  at.required("name");
  at.required("[key]");
  at.each("ports", [1, 2], (port, place) => {
    place.invalid("number", port, "is odd");
    place.child("range").each("", ["a"], (_, item) => item.required(""));
  });
  new FieldErrors("", at.errors).required("data");
  expect(at.errors.map(({ field }) => field)).toEqual([
    "spec",
    "spec.name",
    "spec[key]",
    "spec.ports[0].number",
    "spec.ports[0].range[0]",
    "spec.ports[1].number",
    "spec.ports[1].range[0]",
    "data",
  ]);
});

test("helper methods", () => {
  const at = new FieldErrors("a");
  at.oneOf("b", undefined, ["x"]);
  at.oneOf("b", "y", ["x"]);
  at.requiredOneOf("c", "", ["x"]);
  at.requireFields({ d: "", e: [], f: 0 }, ["d", "e", "f"]);
  at.nonNegative("g", -1);
  at.positive("h", 0);
  at.problems("i", undefined, ["is wrong", "is bad"]);
  expect(sentences(at.errors)).toEqual([
    'a.b: Unsupported value: "y": supported values: "x"',
    "a.c: Required value",
    "a.d: Required value",
    "a.e: Required value",
    "a.g: Invalid value: -1: must be greater than or equal to 0",
    "a.h: Invalid value: 0: must be greater than zero",
    'a.i: Invalid value: "": is wrong',
    'a.i: Invalid value: "": is bad',
  ]);
});

test("stops after a thousand errors", () => {
  const at = new FieldErrors("");
  for (let i = 0; i < 5_000; i++) at.required(`field${i}`);
  expect(at.errors).toHaveLength(1_000);
});
