import { describe, expect, test } from "vitest";
import { builtInSchema } from "./built-in-schema.ts";
import { mergeRules } from "./merge-rules.ts";
import { parseType } from "./schema.ts";

const ownMergeRules = Object.entries(mergeRules).flatMap(([definition, fields]) =>
  Object.entries(fields).map(([field, rule]) => ({ definition, field, rule })),
);

describe("merge rules", () => {
  test.each([
    ["core.v1.PodSpec", "containers", "name"],
    ["core.v1.Container", "ports", "containerPort"],
    ["core.v1.ServiceSpec", "ports", "port"],
    ["meta.v1.ObjectMeta", "ownerReferences", "uid"],
    ["core.v1.PodSpec", "tolerations", undefined],
  ])("%s.%s is merged by %s", (definition, field, key) => {
    expect(builtInSchema.mergeRule(definition, field).patchMergeKey).toBe(key);
  });

  test("every row is about a field of the schema that can have such a rule", () => {
    for (const { definition, field, rule } of ownMergeRules) {
      const type = parseType(
        builtInSchema.definition(definition).fields[field] ?? `missing ${definition}.${field}`,
      );
      expect({ definition, field, isList: type.kind === "list" }).toEqual({
        definition,
        field,
        isList: rule.listType !== undefined,
      });
      if (type.kind !== "list" || type.items.kind !== "struct") continue;
      for (const key of [rule.patchMergeKey ?? [], rule.listMapKeys ?? []].flat()) {
        expect(builtInSchema.definition(type.items.definition).fields).toHaveProperty(key);
      }
    }
  });

  test("every list has a type but the items of lists of objects", () => {
    for (const name of builtInSchema.names) {
      const { fields, kind } = builtInSchema.definition(name);
      for (const [field, type] of Object.entries(fields)) {
        const isTyped = builtInSchema.mergeRule(name, field).listType !== undefined;
        const isItems = kind !== undefined && field === "items";
        expect({ name, field, isTyped }).toEqual({ name, field, isTyped: type.startsWith("[]") && !isItems });
      }
    }
  });

  test("atomic definitions exist", () => {
    expect(builtInSchema.names.filter(builtInSchema.isAtomic)).toHaveLength(21);
  });
});
