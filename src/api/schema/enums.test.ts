import { expect, test } from "vitest";
import { builtInSchema } from "./built-in-schema.ts";

test("every row is a field of the schema", () => {
  const found = builtInSchema.names.flatMap((name) =>
    Object.keys(builtInSchema.definition(name).fields).filter((field) => builtInSchema.enumOf(name, field)),
  );
  // All 70 rows of the table: one that names no field would not be found.
  expect(found).toHaveLength(70);
});

test("an enum may contain the empty value", () => {
  expect(builtInSchema.enumOf("core.v1.HostPathVolumeSource", "type")).toContain("");
  expect(builtInSchema.enumOf("core.v1.Pod", "metadata")).toBeUndefined();
});
