import { expect, test } from "vitest";
import { enumOf } from "./enums.ts";
import { definitionNames, definitionOf } from "./schema.ts";

test("every row is a field of the schema", () => {
  const found = definitionNames.flatMap((name) =>
    Object.keys(definitionOf(name).fields).filter((field) => enumOf(name, field)),
  );
  // All 58 rows of the table: one that names no field would not be found.
  expect(found).toHaveLength(58);
});

test("an empty value may be one of them", () => {
  expect(enumOf("core.v1.HostPathVolumeSource", "type")).toContain("");
  expect(enumOf("core.v1.Pod", "metadata")).toBeUndefined();
});
