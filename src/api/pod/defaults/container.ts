// Clauses: 950-7

import type * as k8s from "@kubernetes/client-node";
import { parseImageName } from "../../../lib/image/image-name.ts";
import type { Container, Probe } from "../../meta/objects.ts";
import { formatQuantity, parseQuantity, roundUpToMilli } from "../../meta/quantity.ts";

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

/** Default pull policy: Always for the tag `latest` or no tag, including invalid names. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const name = parseImageName(image);
  return "tag" in name && name.tag === "latest" ? "Always" : "IfNotPresent";
}

function defaultProbe(probe: Probe | undefined): void {
  if (!probe) return;
  // Zero means unset in these fields.
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttpGet(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= "";
}

function defaultLifecycle(lifecycle: k8s.V1Lifecycle | undefined): void {
  defaultHttpGet(lifecycle?.postStart?.httpGet);
  defaultHttpGet(lifecycle?.preStop?.httpGet);
}

function defaultHttpGet(action: k8s.V1HTTPGetAction | undefined): void {
  if (!action) return;
  action.path ||= "/";
  action.scheme ||= "HTTP";
}

/** Rounds resource amounts up to thousandths. */
export function defaultResourceList(list: Record<string, string> | undefined): void {
  for (const name in list) list[name] = roundUp(list[name] ?? "0");
}

export function defaultResourceRequirements(resources: k8s.V1ResourceRequirements | undefined): void {
  if (!resources) return;
  defaultResourceList(resources.limits);
  defaultResourceList(resources.requests);
}

function roundUp(amount: string): string {
  // Only amounts with a small suffix, an exponent or a fraction can have a higher precision.
  if (!/[nueE.]/.test(amount)) return amount;
  const quantity = parseQuantity(amount);
  const rounded = roundUpToMilli(quantity);
  return rounded.nanos === quantity.nanos ? amount : formatQuantity(rounded);
}
