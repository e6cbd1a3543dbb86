import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { badRequest, unsupportedMediaType } from "../../meta/status-error.ts";
import type { JsonObject } from "../json-object.ts";
import { definitionName, type Schema } from "../schema.ts";
import { messageNamed, scalarValues } from "./compile-message.ts";
import { type Message, messageWith, readFields, singular, struct } from "./message.ts";

const prefix = Buffer.from("k8s\0");

/** Envelope of every body: the name of a kind and the encoded object. */
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
 * Converts an application/vnd.kubernetes.protobuf body to JSON. Unlike JSON from Go, the result contains empty values.
 * Throws 400.
 */
export function protobufToJson(schema: Schema, body: Buffer): JsonObject {
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
    (name) => schema.has(name) && schema.fieldNumbers(name) !== undefined,
  );
  // Custom resources and their definitions have no protobuf form here. Every kind has a list.
  if (!definition && schema.has(`${definitionName({ group, version, kind })}List`))
    throw unsupportedMediaType(
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
    );
  // The name of a kind without a message is enough: the caller rejects an unexpected kind.
  if (!definition || !raw) return target;
  const failure = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}`;
  return readWhole(raw, messageNamed(schema, definition), { target, failure });
}

/** Reads the whole message. Every error is a bad request, because the result depends only on the bytes. */
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
