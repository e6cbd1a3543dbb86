import { defaultMaskedPaths, defaultReadonlyPaths } from "../../cri/default-paths.ts";
import {
  type ContainerConfig,
  type HugepageLimit,
  type LinuxContainerResources,
  type LinuxContainerSecurityContext,
  type PodSandboxConfig,
  SecurityProfile_ProfileType as ProfileType,
  type SecurityProfile,
} from "../../cri/generated/cri.ts";
import type { ContainerSpec, LinuxResources, Mount, Namespaces, SecurityOptions } from "../drivers/driver.ts";
import { invalidArgument } from "../errors/runtime-error.ts";
import type { ImageConfig } from "../images/images.ts";
import { sandboxHostname } from "../sandboxes/sandbox-files.ts";
import type { ResolvedUser } from "./resolve-user.ts";

/** Inputs of a container's specification. */
export interface ContainerFacts {
  readonly id: string;
  readonly handler: string;
  readonly config: ContainerConfig;
  readonly sandboxConfig: PodSandboxConfig;
  readonly image: ImageConfig;
  readonly rootfs: string;
  readonly user: ResolvedUser;
  readonly mounts: readonly Mount[];
  readonly namespaces: Namespaces;
  readonly logPath: string;
  /** Annotations with which the runtime handler distinguishes sandboxes from containers. */
  readonly runtimeAnnotations: Readonly<Record<string, string>>;
}

/** Builds the driver's specification from the request, image and sandbox. Pure. */
export function buildContainerSpec(facts: ContainerFacts): ContainerSpec {
  const { id, handler, config, sandboxConfig, image, rootfs, user, mounts, namespaces, logPath } = facts;
  const hostname = sandboxHostname(sandboxConfig);
  const context = config.linux?.securityContext;
  const resources = config.linux?.resources;
  return {
    id,
    handler,
    rootfs,
    readonlyRootfs: context?.readonlyRootfs ?? false,
    args: processArgs(config, image),
    env: processEnv(config, image, hostname),
    workingDir: config.workingDir || image.workingDir || "/",
    user,
    hostname,
    mounts,
    devices: config.devices.map(({ hostPath, containerPath, permissions }) => ({
      hostPath,
      containerPath,
      permissions: permissions || "rwm",
    })),
    namespaces,
    cgroupParent: sandboxConfig.linux?.cgroupParent ?? "",
    resources: linuxResources(resources),
    security: securityOptions(context),
    sysctls: sandboxConfig.linux?.sysctls ?? {},
    oomScoreAdj: resources ? Number(resources.oomScoreAdj) : undefined,
    terminal: config.tty,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    logPath,
    annotations: {
      ...passedAnnotations({ ...sandboxConfig.annotations, ...config.annotations }),
      ...facts.runtimeAnnotations,
    },
  };
}

/**
 * Annotations that are passed to the OCI runtime. Runtimes act on some annotations: crun loads plugins and keeps groups
 * by `run.oci.*`, runc reads a criu configuration by `org.criu.config`, Kata configures its hypervisor, and
 * `io.kubernetes.cri.sandbox-id` names the sandbox that a container joins. Users who create pods control the
 * annotations, so only those with which a kubelet describes containers are passed; no runtime acts on these.
 */
function passedAnnotations(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => /^io\.kubernetes\.(container|pod)\./.test(name)),
  );
}

/**
 * Command line of the process. A command replaces the image's entry point and command; arguments replace the command.
 */
export function processArgs(
  config: Pick<ContainerConfig, "command" | "args">,
  image: Pick<ImageConfig, "entrypoint" | "command">,
): string[] {
  const { command, args } = config;
  const result =
    command.length > 0
      ? [...command, ...args]
      : [...image.entrypoint, ...(args.length > 0 ? args : image.command)];
  if (result.length === 0) throw invalidArgument("neither the container nor its image specifies a command");
  return result;
}

/** Environment: the image's variables, overridden by the container's. Drivers add PATH and, with a terminal, TERM. */
export function processEnv(
  config: Pick<ContainerConfig, "envs">,
  image: Pick<ImageConfig, "env">,
  hostname: string,
): string[] {
  const given = config.envs.map(({ key, value }) => `${key}=${Buffer.from(value).toString("utf8")}`);
  const all = [`HOSTNAME=${hostname}`, ...image.env, ...given];
  const byName = new Map(all.map((entry) => [entry.slice(0, entry.indexOf("=")), entry]));
  return [...byName.values()];
}

/**
 * Security options of the request. A request without a security context gets the default paths; in a security context,
 * empty lists mean `procMount: Unmasked`. Exported for its test.
 */
export function securityOptions(context: LinuxContainerSecurityContext | undefined): SecurityOptions {
  const privileged = context?.privileged ?? false;
  return {
    privileged,
    capabilities: {
      add: context?.capabilities?.addCapabilities ?? [],
      drop: context?.capabilities?.dropCapabilities ?? [],
    },
    noNewPrivileges: context?.noNewPrivs ?? false,
    maskedPaths: privileged ? [] : (context?.maskedPaths ?? defaultMaskedPaths),
    readonlyPaths: privileged ? [] : (context?.readonlyPaths ?? defaultReadonlyPaths),
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

/** Resource limits of the request. CRI uses 0 and the empty string for "no limit", except for huge pages. */
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

/** Converts a huge page limit, for which zero is a limit too. */
function hugepageLimit({ pageSize, limit }: HugepageLimit): { pageSize: string; limitBytes: number } {
  // The page size becomes part of a file name.
  if (!/^\d+[KMG]B$/.test(pageSize))
    throw invalidArgument(`hugepage_limits: page_size "${pageSize}" is not like 2MB`);
  return { pageSize, limitBytes: Number(limit) };
}
