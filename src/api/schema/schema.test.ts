import { describe, expect, test } from "vitest";
import { builtInSchema } from "./built-in-schema.ts";
import { decodeObject } from "./decode.ts";
import { createSchema, definitionName } from "./schema.ts";

/** Schema of a kind that is not built in, as a CustomResourceDefinition would give it. */
const schema = createSchema({
  definitions: {
    "example.v1.Widget": {
      fields: { metadata: "meta.v1.ObjectMeta", spec: "example.v1.WidgetSpec" },
      kind: { group: "example.com", version: "v1", kind: "Widget" },
    },
    "example.v1.WidgetSpec": {
      fields: { size: "int32", parts: "[]example.v1.WidgetPart", tags: "[]string", color: "string" },
      required: ["size"],
    },
    "example.v1.WidgetPart": { fields: { name: "string", limit: "quantity" } },
  },
  mergeRules: {
    "example.v1.WidgetSpec": { parts: { patchStrategy: ["merge"], patchMergeKey: "name", listType: "map" } },
  },
  atomicDefinitions: new Set(["example.v1.WidgetPart"]),
  enums: { "example.v1.WidgetSpec": { color: "blue,red" } },
  fieldNumbers: (name) => (name === "example.v1.WidgetPart" ? [["name", 1]] : undefined),
  openApiName: (name) => `com.${name}`,
  loadDescriptions: async () => ({ "example.v1.WidgetSpec": { size: "Size of the widget." } }),
  base: builtInSchema,
});

describe("a schema with a base", () => {
  test("has its own definitions and those of the base", () => {
    expect([schema.has("example.v1.Widget"), schema.has("core.v1.Pod"), schema.has("toString")]).toEqual([
      true,
      true,
      false,
    ]);
    expect(schema.definition("example.v1.WidgetSpec").required).toEqual(["size"]);
    expect(schema.definition("core.v1.Pod")).toBe(builtInSchema.definition("core.v1.Pod"));
    expect(() => schema.definition("example.v1.Gadget")).toThrow("no definition example.v1.Gadget");
    expect(schema.names).toEqual(expect.arrayContaining(["core.v1.Pod", "example.v1.WidgetPart"]));
  });

  test("does not change its base", () => {
    expect(builtInSchema.has("example.v1.Widget")).toBe(false);
    expect(builtInSchema.names).not.toContain("example.v1.Widget");
  });

  test("defines the list of each kind", () => {
    const { kind, fields } = schema.definition("example.v1.WidgetList");
    expect(kind?.kind).toBe("WidgetList");
    expect(fields.items).toBe("[]example.v1.Widget");
    expect(schema.mergeRule("example.v1.WidgetList", "items")).toEqual({});
  });

  test("has merge rules, and treats lists without a rule as atomic", () => {
    expect(schema.mergeRule("example.v1.WidgetSpec", "parts").patchMergeKey).toBe("name");
    expect(schema.mergeRule("example.v1.WidgetSpec", "tags")).toEqual({ listType: "atomic" });
    expect(schema.mergeRule("example.v1.WidgetSpec", "size")).toEqual({});
    expect(schema.mergeRule("core.v1.PodSpec", "containers").patchMergeKey).toBe("name");
    expect(schema.isAtomic("example.v1.WidgetPart")).toBe(true);
  });

  test("keeps the atomic definitions of its base", () => {
    const atomic = builtInSchema.names.filter((name) => builtInSchema.isAtomic(name));
    expect(atomic.length).toBeGreaterThan(0);
    expect(atomic.filter((name) => !schema.isAtomic(name))).toEqual([]);
  });

  test("has enums, protobuf numbers, OpenAPI names and descriptions of both", async () => {
    expect(schema.enumOf("example.v1.WidgetSpec", "color")).toEqual(["blue", "red"]);
    expect(schema.enumOf("core.v1.PodSpec", "restartPolicy")).toContain("Always");
    expect(schema.fieldNumbers("example.v1.WidgetPart")).toEqual([["name", 1]]);
    expect(schema.fieldNumbers("core.v1.Pod")).toEqual(builtInSchema.fieldNumbers("core.v1.Pod"));
    expect(schema.openApiName("example.v1.Widget")).toBe("com.example.v1.Widget");
    expect(schema.openApiName("core.v1.Pod")).toBe("io.k8s.api.core.v1.Pod");
    const descriptions = await schema.loadDescriptions();
    expect(descriptions["example.v1.WidgetSpec"]?.size).toBe("Size of the widget.");
    expect(descriptions["core.v1.Pod"]).toBeDefined();
  });

  test("decodes objects of its kinds", () => {
    const spec = { size: 1, parts: [{ name: "a", limit: "0.5" }], unknown: true };
    const { object } = decodeObject(schema, "example.v1.Widget", { spec });
    expect(object.spec).toEqual({ size: 1, parts: [{ name: "a", limit: "500m" }] });
    const wrong = { spec: { size: "big" } };
    expect(() => decodeObject(schema, "example.v1.Widget", wrong)).toThrow("cannot unmarshal");
  });

  test("names the definition of a kind by the first part of its group", () => {
    expect(definitionName({ group: "example.com", version: "v1", kind: "Widget" })).toBe("example.v1.Widget");
    expect(definitionName({ group: "", version: "v1", kind: "Pod" })).toBe("core.v1.Pod");
  });
});
