import { WireType } from "@bufbuild/protobuf/wire";
import type { JsonObject } from "../schema/json-object.ts";
import { type Field, type Message, readMessage, type Value } from "./message.ts";

/** The message whose fields, numbered from 1, have these values. */
export function messageWith(values: Readonly<Record<string, Value>>): Message {
  return [undefined, ...Object.entries(values).map(([name, value]) => singular(name, value))];
}

/** A message that is one value in JSON. `Fields` are those of the message, of which any may be missing. */
export function wrapped<Fields>(message: Message, unwrap: (fields: Fields) => unknown): Value {
  return {
    wire: WireType.LengthDelimited,
    read: (reader) => unwrap(readMessage(reader, message, {}) as Fields),
  };
}

/** If it is there more than once, the last counts. */
export function singular(name: string, { wire, read }: Value): Field {
  return {
    name,
    wire,
    readInto(reader, target) {
      target[name] = read(reader);
    },
  };
}

/** If it is there more than once, its fields come together. */
export function struct(name: string, message: Message): Field {
  return {
    name,
    wire: WireType.LengthDelimited,
    readInto(reader, target) {
      target[name] = readMessage(reader, message, (target[name] as JsonObject | undefined) ?? {});
    },
  };
}

/** A struct whose fields JSON has among those around it. */
export function inlined(name: string, message: Message): Field {
  return {
    name,
    wire: WireType.LengthDelimited,
    readInto(reader, target) {
      readMessage(reader, message, target);
    },
  };
}

export function list(name: string, { wire, read }: Value): Field {
  return {
    name,
    wire,
    isList: true,
    readInto(reader, target) {
      const items = target[name] as unknown[] | undefined;
      if (items) items.push(read(reader));
      else target[name] = [read(reader)];
    },
  };
}

/** On the wire it is a list of entries. */
export function map(name: string, key: Value, value: Value): Field {
  const entry = messageWith({ key, value });
  return {
    name,
    wire: WireType.LengthDelimited,
    readInto(reader, target) {
      // Without a prototype, so that a label named __proto__ is a label.
      target[name] ??= Object.create(null);
      const { key = "", value = null } = readMessage(reader, entry, {}) as { key?: string; value?: unknown };
      (target[name] as JsonObject)[key] = value;
    },
  };
}
