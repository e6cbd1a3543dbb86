import type { Pod } from "../../api/objects.ts";
import { StartError } from "../start-error.ts";

/** What the pod asks for cannot be made into a container. */
export function configError(message: string, options?: ErrorOptions): StartError {
  return new StartError("CreateContainerConfigError", message, options);
}

/** A pod as upstream's messages name it: `web_default(8c1f…)`. */
export function describePod({ metadata }: Pod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
}
