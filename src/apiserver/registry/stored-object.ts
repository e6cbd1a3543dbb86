import type { KubeObject } from "../../api/objects.ts";
import { apiVersionOf, type Resource } from "../../api/resources.ts";
import { unparsedSpec, withoutSpec } from "./lazy-spec.ts";

/**
 * An object as the store keeps it: JSON that begins with kind, apiVersion and metadata, then the spec where there is
 * one, and has no resourceVersion, which is the store's revision and known only after the write. Because the beginning
 * is the same for all objects of a kind, the revision is spliced in without parsing.
 */
export function encodeStored(object: KubeObject): string {
  const specText = unparsedSpec(object);
  const { kind, apiVersion, metadata, ...rest } = specText === undefined ? object : withoutSpec(object);
  const { resourceVersion: _, ...stored } = metadata;
  const head = { kind, apiVersion, metadata: stored };
  if (specText !== undefined) {
    const tail = JSON.stringify(rest).slice(1);
    return `${JSON.stringify(head).slice(0, -1)},"spec":${specText}${tail === "}" ? tail : `,${tail}`}`;
  }
  const { spec, ...others }: { spec?: unknown } = rest;
  return JSON.stringify(spec === undefined ? { ...head, ...others } : { ...head, spec, ...others });
}

/** The length of `{"kind":"Pod","apiVersion":"v1","metadata":{`. */
export function headLength(resource: Resource): number {
  return `{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}","metadata":{`.length;
}

let workbench = Buffer.allocUnsafeSlow(64 * 1_024);

/**
 * The stored bytes with `"resourceVersion":"N",` put in: the object as clients get it. A string, because V8 keeps
 * strings of ASCII as compactly as bytes, and Node sends a string in one piece with its headers.
 */
export function withRevision(stored: Buffer, head: number, revision: number): string {
  const field = revisionField(revision);
  const length = stored.length + field.length;
  if (length > workbench.length) workbench = Buffer.allocUnsafeSlow(2 * length);
  stored.copy(workbench, 0, 0, head);
  workbench.write(field, head, "latin1");
  stored.copy(workbench, head + field.length, head);
  return workbench.toString("utf8", 0, length);
}

/** The same object at another revision: what a DELETED event carries. */
export function atRevision(json: string, head: number, from: number, to: number): string {
  return json.slice(0, head) + revisionField(to) + json.slice(head + revisionField(from).length);
}

export function revisionField(revision: number): string {
  return `"resourceVersion":"${revision}",`;
}
