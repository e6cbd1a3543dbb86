import type { KubeObject } from "../api/objects.ts";
import { apiVersionOf, type Resource } from "../api/resources.ts";

/**
 * An object as the store keeps it: JSON that begins with kind, apiVersion and metadata and has no
 * resourceVersion, which is the store's revision and known only after the write. Because the beginning is the
 * same for all objects of a kind, the revision is spliced in without parsing.
 */
export function encodeStored(object: KubeObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, ...stored } = metadata;
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata: stored, ...rest }));
}

/** The length of `{"kind":"Pod","apiVersion":"v1","metadata":{`. */
export function headLength(resource: Resource): number {
  return `{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}","metadata":{`.length;
}

/** The stored bytes with `"resourceVersion":"N",` put in: the object as clients get it. */
export function withRevision(stored: Buffer, head: number, revision: number): Buffer {
  const field = `"resourceVersion":"${revision}",`;
  // Not from Node's shared pool: cached objects live long and would keep whole pool pages alive.
  const json = Buffer.allocUnsafeSlow(stored.length + field.length);
  stored.copy(json, 0, 0, head);
  json.write(field, head, "latin1");
  stored.copy(json, head + field.length, head);
  return json;
}

/** The same object at another revision: what a DELETED event carries. */
export function atRevision(json: Buffer, head: number, from: number, to: number): Buffer {
  const oldField = `"resourceVersion":"${from}",`;
  return withRevision(
    Buffer.concat([json.subarray(0, head), json.subarray(head + oldField.length)]),
    head,
    to,
  );
}
