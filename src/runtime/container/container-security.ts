import {
  type LinuxContainerResources,
  type LinuxContainerSecurityContext,
  SecurityProfile_ProfileType as ProfileType,
  type SecurityProfile,
} from "../../cri/generated/cri.ts";
import type { LinuxResources, SecurityOptions } from "../driver/driver.ts";
import { invalidArgument } from "../runtime-error.ts";

/** Exactly what the request asks for: kubelets send the defaults themselves. */
export function securityOptions(context: LinuxContainerSecurityContext | undefined): SecurityOptions {
  const privileged = context?.privileged ?? false;
  return {
    privileged,
    capabilities: {
      add: context?.capabilities?.addCapabilities ?? [],
      drop: context?.capabilities?.dropCapabilities ?? [],
    },
    noNewPrivileges: context?.noNewPrivs ?? false,
    maskedPaths: privileged ? [] : (context?.maskedPaths ?? []),
    readonlyPaths: privileged ? [] : (context?.readonlyPaths ?? []),
    seccomp: privileged ? { kind: "unconfined" } : seccompOf(context?.seccomp),
    apparmorProfile: privileged ? undefined : apparmorOf(context?.apparmor),
  };
}

function seccompOf(profile: SecurityProfile | undefined): SecurityOptions["seccomp"] {
  switch (profile?.profileType) {
    case undefined:
    case ProfileType.Unconfined:
      return { kind: "unconfined" };
    case ProfileType.RuntimeDefault:
      return { kind: "runtimeDefault" };
    case ProfileType.Localhost:
      if (!profile.localhostRef.startsWith("/"))
        throw invalidArgument(`seccomp profile ${profile.localhostRef} is not an absolute path`);
      return { kind: "localhost", path: profile.localhostRef };
  }
}

function apparmorOf(profile: SecurityProfile | undefined): string | undefined {
  if (profile?.profileType === ProfileType.Unconfined) return "unconfined";
  return profile?.profileType === ProfileType.Localhost ? profile.localhostRef : undefined;
}

/** CRI writes 0 and the empty string for "not limited". */
export function linuxResources(resources: LinuxContainerResources | undefined): LinuxResources {
  if (!resources) return {};
  const limits = {
    cpuShares: Number(resources.cpuShares),
    cpuQuota: Number(resources.cpuQuota),
    cpuPeriod: Number(resources.cpuPeriod),
    memoryLimitBytes: Number(resources.memoryLimitInBytes),
    memorySwapLimitBytes: Number(resources.memorySwapLimitInBytes),
    cpusetCpus: resources.cpusetCpus,
    cpusetMems: resources.cpusetMems,
  };
  const set: LinuxResources = Object.fromEntries(Object.entries(limits).filter(([, value]) => value));
  return Object.keys(resources.unified).length > 0 ? { ...set, unified: resources.unified } : set;
}
