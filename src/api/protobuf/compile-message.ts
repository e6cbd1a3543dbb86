import { definitionOf, type FieldType, parseType } from "../schema/schema.ts";
import { fieldNumbersOf } from "./field-numbers.ts";
import { inlined, list, map, singular, struct, wrapped } from "./fields.ts";
import type { Field, Message, Value } from "./message.ts";
import { scalarValues } from "./scalar-values.ts";

const compiled = new Map<string, Message>();

/** Compiled when first needed, with all that it contains: no definition contains itself. */
export function messageNamed(definition: string): Message {
  let message = compiled.get(definition);
  if (!message) {
    message = compileMessage(definition, definitionOf(definition).fields);
    compiled.set(definition, message);
  }
  return message;
}

/** The types are those of the definition, or of the one that the message is inlined in. */
function compileMessage(name: string, types: Readonly<Record<string, string>>): Message {
  const message: Field[] = [];
  for (const [field, number] of fieldNumbersOf(name)) {
    if (field.startsWith("...")) {
      message[number] = inlined(field, compileMessage(field.slice(3), types));
    } else {
      const type = types[field];
      if (!type) throw new Error(`${name} has a number for ${field}, which the schema does not have`);
      message[number] = compileField(field, parseType(type));
    }
  }
  return message;
}

function compileField(name: string, type: FieldType): Field {
  switch (type.kind) {
    case "struct":
      return struct(name, messageNamed(type.definition));
    case "list":
      return list(name, compileValue(type.items));
    case "map":
      return map(name, scalarValues.string, compileValue(type.values));
    case "scalar":
      return singular(name, scalarValues[type.scalar]);
  }
}

/** What a list or map may hold. */
function compileValue(type: FieldType): Value {
  switch (type.kind) {
    case "struct":
      return wrapped(messageNamed(type.definition), (fields) => fields);
    case "list":
      // Only messages can be in a map: the list is one that has nothing else.
      return wrapped(
        [undefined, compileField("items", type)],
        ({ items = [] }: { items?: unknown[] }) => items,
      );
    case "map":
      throw new Error("protobuf has no lists or maps of maps");
    case "scalar":
      return scalarValues[type.scalar];
  }
}
