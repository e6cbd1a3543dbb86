import {
  type HugepageLimit,
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

/** CRI writes 0 and the empty string for "not limited", but for huge pages. */
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
  const hugepageLimits = resources.hugepageLimits.map(hugepageLimit);
  return {
    ...Object.fromEntries(Object.entries(limits).filter(([, value]) => value)),
    ...(hugepageLimits.length > 0 && { hugepageLimits }),
    ...(Object.keys(resources.unified).length > 0 && { unified: resources.unified }),
  };
}

/** Zero is a limit here: none of them. */
function hugepageLimit({ pageSize, limit }: HugepageLimit): { pageSize: string; limitBytes: number } {
  // It becomes part of a file's name.
  if (!/^\d+[KMG]B$/.test(pageSize))
    throw invalidArgument(`hugepage_limits: page_size "${pageSize}" is not like 2MB`);
  return { pageSize, limitBytes: Number(limit) };
}
