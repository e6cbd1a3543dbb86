import { parseImageName } from "../../lib/image-name.ts";
import type { Container } from "../objects.ts";
import { defaultLifecycle, defaultProbe } from "./probe.ts";
import { defaultResourceRequirements } from "./resource-list.ts";

export function defaultContainer(container: Container): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? "");
  container.terminationMessagePath ||= "/dev/termination-log";
  container.terminationMessagePolicy ||= "File";
  container.resources ??= {};
  defaultResourceRequirements(container.resources);
  for (const port of container.ports ?? []) port.protocol ||= "TCP";
  for (const { valueFrom } of container.env ?? []) {
    if (!valueFrom) continue;
    if (valueFrom.fieldRef) valueFrom.fieldRef.apiVersion ||= "v1";
    if (valueFrom.fileKeyRef) valueFrom.fileKeyRef.optional ??= false;
    if (valueFrom.resourceFieldRef) valueFrom.resourceFieldRef.divisor ??= "0";
  }
  defaultProbe(container.livenessProbe);
  defaultProbe(container.readinessProbe);
  defaultProbe(container.startupProbe);
  defaultLifecycle(container.lifecycle);
}

/** An image whose tag may move is pulled every time; what is no name at all has no tag. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const name = parseImageName(image);
  return "tag" in name && name.tag === "latest" ? "Always" : "IfNotPresent";
}
