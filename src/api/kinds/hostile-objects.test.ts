import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../test/support/fuzz/rounds.ts";
import { defaultFeatures } from "../meta/feature-gates.ts";
import type { KubeObject } from "../meta/objects.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "../meta/validate-metadata.ts";
import { builtInSchema } from "../schema/built-in-schema.ts";
import { decodeObject } from "../schema/decode.ts";
import { definitionName, type FieldType, parseType, type Scalar } from "../schema/schema.ts";
import { builtInKinds } from "./built-in-kinds.ts";

const context = { features: defaultFeatures, now: 0 };

/** Values that some rule somewhere cares about. */
const text = fc.oneof(
  fc.constantFrom(
    "",
    "a",
    "A b",
    "-",
    "..",
    "/a/../b",
    "None",
    "Always",
    "Never",
    "Exists",
    "In",
    "Localhost",
  ),
  fc.constantFrom(
    "IPv4",
    "10.0.0.1",
    "::1",
    "ClientIP",
    "LoadBalancer",
    "RollingUpdate",
    "metadata.labels['x']",
  ),
  fc.constantFrom(
    "kubernetes.io/tls",
    "iqn.2001-04.com.example:x",
    "example.com/a",
    "hugepages-2Mi",
    "cpu",
    "1%",
  ),
  fc.string({ maxLength: 4 }),
);
const scalars: Record<Scalar, fc.Arbitrary<unknown>> = {
  string: text,
  bool: fc.boolean(),
  int32: fc.constantFrom(-1, 0, 1, 80, 300, 70_000, 2 ** 31 - 1),
  int64: fc.constantFrom(-1, 0, 1, 600, 2 ** 32),
  double: fc.double(),
  time: fc.constant("2026-01-02T03:04:05Z"),
  microTime: fc.constant("2026-01-02T03:04:05.000000Z"),
  bytes: fc.constantFrom("", "e30=", "AAAA"),
  quantity: fc.constantFrom("-1", "0", "1", "1500m", "1n", "2Mi", "1Gi", "1e300"),
  intOrString: fc.constantFrom<unknown>(-1, 0, 1, 80, "", "http", "50%", "x%"),
  json: fc.constantFrom<unknown>({}, [], 1, "a", null),
  fieldsV1: fc.constant({}),
};

function valuesOf(type: FieldType, depth: number): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case "scalar":
      return scalars[type.scalar];
    case "list":
      return fc.array(valuesOf(type.items, depth), { maxLength: 2 });
    case "map":
      return fc.dictionary(text, valuesOf(type.values, depth), { maxKeys: 2 });
    case "struct":
      return depth === 0 ? fc.constant({}) : structOf(type.definition, depth - 1);
  }
}

/** Any fields may be missing, required ones too: that is what clients send. */
function structOf(definition: string, depth: number): fc.Arbitrary<object> {
  const fields = Object.entries(builtInSchema.definition(definition).fields).map(
    ([name, type]) => [name, valuesOf(parseType(type), depth)] as const,
  );
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}

const kinds = builtInKinds.filter(({ resource: { group } }) => group !== "events.k8s.io");

describe("every object that the schema allows is validated without a crash", () => {
  test.each(kinds.map((kind) => [`${kind.resource.group}/${kind.resource.plural}`, kind] as const))(
    "%s",
    async (_, { resource, strategy }) => {
      const definition = definitionName(resource);
      const rules = { namespaced: resource.namespaced, nameRule: strategy.nameRule ?? "dnsSubdomain" };

      function decoded(value: object): KubeObject {
        return structuredClone(
          decodeObject(builtInSchema, definition, value).object,
        ) as unknown as KubeObject;
      }

      const object = structOf(definition, 7);
      const check = fc.asyncProperty(object, object, async (one, other) => {
        const current = decoded(one);
        await strategy.load?.(current);
        strategy.applyDefaults?.(current, context);
        strategy.prepareForCreate?.(current, context);
        expect([
          ...validateObjectMeta(current.metadata, rules),
          ...(strategy.validate?.(current, context) ?? []),
        ]).toBeInstanceOf(Array);
        strategy.warnings?.(current, context);
        strategy.gracePeriodSeconds?.(current, {});
        for (const read of Object.values(strategy.selectableFields ?? {}))
          expect(read(current)).toBeTypeOf("string");

        const next = decoded(other);
        await strategy.load?.(next);
        strategy.applyDefaults?.(next, context);
        strategy.prepareForUpdate?.(next, current, context);
        validateObjectMetaUpdate(next.metadata, current.metadata);
        strategy.validateUpdate?.(next, current, context);
        const status = decoded(other);
        strategy.applyDefaults?.(status, context);
        strategy.prepareForStatusUpdate?.(status, current, context);
        strategy.validateStatusUpdate?.(status, current, context);
      });
      await fc.assert(check, { numRuns: rounds(5), seed: 1 });
    },
  );
});
