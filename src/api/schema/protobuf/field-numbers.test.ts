import { expect, test } from "vitest";
import { builtInSchema } from "../built-in-schema.ts";
import { fieldNumbersOf } from "./field-numbers.ts";

const roots = [
  // Every kind has a list, which no request contains.
  ...builtInSchema.names.filter((name) => builtInSchema.has(`${name}List`)),
  ...[
    "core.v1.Binding",
    "autoscaling.v1.Scale",
    "policy.v1.Eviction",
    "meta.v1.DeleteOptions",
    "meta.v1.Status",
  ],
  ...builtInSchema.names.filter((name) =>
    /^(authentication|authorization)\.v1\.\w+(Review|Request)$/.test(name),
  ),
];

test("every field that a request can have has a unique number", () => {
  for (const definition of reachableFrom(roots)) {
    const fields = Object.keys(builtInSchema.definition(definition).fields);
    const inMessage = fields.filter((field) => !isInEnvelope(definition, field));
    expect(flatFieldsOf(definition).sort(), definition).toEqual(inMessage.sort());
    const numbers = (fieldNumbersOf(definition) ?? []).map(([, number]) => number);
    expect(numbers, definition).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  }
});

/** The envelope contains apiVersion and kind; the message does not. */
function isInEnvelope(definition: string, field: string): boolean {
  return roots.includes(definition) && (field === "apiVersion" || field === "kind");
}

function flatFieldsOf(definition: string): string[] {
  return (fieldNumbersOf(definition) ?? []).flatMap(([field]) =>
    field.startsWith("...") ? flatFieldsOf(field.slice(3)) : field,
  );
}

function referencesOf(definition: string): string[] {
  const types = Object.values(builtInSchema.definition(definition).fields).map((type) =>
    type.replace(/^[[\]{}?]+/, ""),
  );
  return types.filter((type) => type.includes("."));
}

function reachableFrom(names: readonly string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    if (!found.has(name)) reachableFrom(referencesOf(name), found.add(name));
  }
  return found;
}
