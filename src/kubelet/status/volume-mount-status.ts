import type { Container, ContainerStatus } from "../../api/objects.ts";

type VolumeMountStatus = NonNullable<ContainerStatus["volumeMounts"]>[number];

/** How a container's volumes are mounted; only of read-only ones is it said whether what lies below is so too. */
export function volumeMountStatuses(container: Container, recursive: boolean): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map(({ name, mountPath, readOnly, recursiveReadOnly }) => {
    if (!readOnly) return { name, mountPath };
    const enabled = recursiveReadOnly === "Enabled" || (recursiveReadOnly === "IfPossible" && recursive);
    return { name, mountPath, readOnly, recursiveReadOnly: enabled ? "Enabled" : "Disabled" };
  });
}
