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

/** An image whose tag may move is pulled every time. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  return tagOf(image) === "latest" ? "Always" : "IfNotPresent";
}

const reference =
  /^(?:[a-zA-Z0-9.-]+(?::[0-9]+)?\/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(@.+)?$/;

/** A name with neither tag nor digest means `latest`; what is no name at all has no tag. */
function tagOf(image: string): string {
  const match = reference.exec(image);
  if (!match) return "";
  const [, tag, digest] = match;
  return tag ?? (digest ? "" : "latest");
}
