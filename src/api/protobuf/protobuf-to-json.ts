import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { JsonObject } from "../schema/json-object.ts";
import { definitionName, hasDefinition } from "../schema/schema.ts";
import { badRequest } from "../status-error.ts";
import { messageNamed } from "./compile-message.ts";
import { hasFieldNumbers } from "./field-numbers.ts";
import { messageWith, singular, struct } from "./fields.ts";
import { type Message, readFields } from "./message.ts";
import { scalarValues } from "./scalar-values.ts";

const prefix = Buffer.from("k8s\0");

/** What every body is: the name of a kind, and an object as the message of that kind. */
interface Envelope {
  typeMeta?: { apiVersion?: string; kind?: string };
  raw?: Uint8Array;
}

const envelope: Message = [
  undefined,
  struct("typeMeta", messageWith({ apiVersion: scalarValues.string, kind: scalarValues.string })),
  singular("raw", { wire: WireType.LengthDelimited, read: (reader) => reader.bytes() }),
];

/**
 * Reads a body of type application/vnd.kubernetes.protobuf into what it would be in JSON, but for empty values, which
 * Go leaves out of JSON and not of protobuf. Throws a 400.
 */
export function protobufToJson(body: Buffer): JsonObject {
  const unrecognized = "the object provided is unrecognized";
  if (!body.subarray(0, prefix.length).equals(prefix)) {
    throw badRequest(
      `${unrecognized}: provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]`,
    );
  }
  const { typeMeta, raw }: Envelope = readWhole(body.subarray(prefix.length), envelope, {
    target: {},
    failure: unrecognized,
  });
  const { apiVersion = "", kind = "" } = typeMeta ?? {};
  if (!apiVersion || !kind) throw badRequest(`${unrecognized}: its apiVersion or kind is missing`);

  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const target = { apiVersion, kind };
  // The kinds of meta/v1, such as DeleteOptions, belong to every group and version.
  const definition = [definitionName({ group, version, kind }), `meta.v1.${kind}`].find(
    (name) => hasDefinition(name) && hasFieldNumbers(name),
  );
  // Of a kind that no request has, the name is enough: whoever expects another one will say so.
  if (!definition || !raw) return target;
  const failure = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}`;
  return readWhole(raw, messageNamed(definition), { target, failure });
}

/** Whatever reading throws is the fault of the bytes, for it depends on nothing else. */
function readWhole(
  bytes: Uint8Array,
  message: Message,
  { target, failure }: { target: JsonObject; failure: string },
): JsonObject {
  try {
    return readFields(new BinaryReader(bytes), message, { end: bytes.length, target });
  } catch (error) {
    throw badRequest(`${failure}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
