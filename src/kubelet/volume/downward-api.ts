import { Buffer } from "node:buffer";
import type { Pod } from "../../api/objects.ts";
import { resourceField } from "../container/downward-fields.ts";
import { fieldValue } from "../container/field-value.ts";
import { collectErrors } from "./collect-errors.ts";
import { type Payload, type ProjectedFile, usualMode } from "./payload.ts";

export interface DownwardSource {
  readonly items?: readonly {
    readonly path: string;
    readonly mode?: number;
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: Parameters<typeof resourceField>[1];
  }[];
  readonly defaultMode?: number;
}

/** Facts of a pod as files. */
export function downwardPayload(
  pod: Pod,
  source: DownwardSource,
  allocatable: Readonly<Record<string, string>>,
): Payload {
  const payload = new Map<string, ProjectedFile>();
  const errors = collectErrors();
  for (const { path, mode, fieldRef, resourceFieldRef } of source.items ?? []) {
    errors.try(() => {
      let text = "";
      if (fieldRef) text = fieldValue(pod, fieldRef.fieldPath);
      else if (resourceFieldRef)
        text = resourceField({ pod, container: { name: "" }, allocatable }, resourceFieldRef);
      payload.set(path, { data: Buffer.from(text), mode: mode ?? source.defaultMode ?? usualMode });
    });
  }
  errors.throwAny();
  return payload;
}
