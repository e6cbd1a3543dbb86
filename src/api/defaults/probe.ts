import type * as k8s from "@kubernetes/client-node";
import type { Probe } from "../objects.ts";

export function defaultProbe(probe: Probe | undefined): void {
  if (!probe) return;
  // Zero stands for "not set" in these fields.
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttpGet(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= "";
}

export function defaultLifecycle(lifecycle: k8s.V1Lifecycle | undefined): void {
  defaultHttpGet(lifecycle?.postStart?.httpGet);
  defaultHttpGet(lifecycle?.preStop?.httpGet);
}

function defaultHttpGet(action: k8s.V1HTTPGetAction | undefined): void {
  if (!action) return;
  action.path ||= "/";
  action.scheme ||= "HTTP";
}
