import { describe, expect, test } from "vitest";
import { isAtomicDefinition, mergeRuleOf, ownMergeRules } from "./merge-keys.ts";
import { definitionNames, definitionOf, parseType } from "./schema.ts";

describe("merge rules", () => {
  test.each([
    ["core.v1.PodSpec", "containers", "name"],
    ["core.v1.Container", "ports", "containerPort"],
    ["core.v1.ServiceSpec", "ports", "port"],
    ["meta.v1.ObjectMeta", "ownerReferences", "uid"],
    ["core.v1.PodSpec", "tolerations", undefined],
  ])("%s.%s is merged by %s", (definition, field, key) => {
    expect(mergeRuleOf(definition, field).patchMergeKey).toBe(key);
  });

  test("every row is about a field of the schema that can have such a rule", () => {
    for (const { definition, field, rule } of ownMergeRules()) {
      const type = parseType(definitionOf(definition).fields[field] ?? `missing ${definition}.${field}`);
      expect({ definition, field, isList: type.kind === "list" }).toEqual({
        definition,
        field,
        isList: rule.listType !== undefined,
      });
      if (type.kind !== "list" || type.items.kind !== "struct") continue;
      for (const key of [rule.patchMergeKey ?? [], rule.listMapKeys ?? []].flat()) {
        expect(definitionOf(type.items.definition).fields).toHaveProperty(key);
      }
    }
  });

  test("every list has a type but the items of lists of objects", () => {
    for (const name of definitionNames) {
      const { fields, kind } = definitionOf(name);
      for (const [field, type] of Object.entries(fields)) {
        const isTyped = mergeRuleOf(name, field).listType !== undefined;
        const isItems = kind !== undefined && field === "items";
        expect({ name, field, isTyped }).toEqual({ name, field, isTyped: type.startsWith("[]") && !isItems });
      }
    }
  });

  test("atomic definitions exist", () => {
    expect(definitionNames.filter(isAtomicDefinition)).toHaveLength(19);
  });
});
