import type { ContainerConfig, PodSandboxConfig } from "../../cri/generated/cri.ts";
import type { ContainerSpec, Mount, Namespaces } from "../driver/driver.ts";
import type { ImageConfig } from "../image/images.ts";
import { sandboxHostname } from "../sandbox/sandbox-files.ts";
import { linuxResources, securityOptions } from "./container-security.ts";
import { processArgs, processEnv } from "./process-args.ts";
import type { ResolvedUser } from "./resolve-user.ts";

/** Everything that was looked up or made before the container can be described. */
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
}

/** The container as a driver takes it: the request, completed from image and sandbox. Pure. */
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
    annotations: harmless({ ...sandboxConfig.annotations, ...config.annotations }),
  };
}

/**
 * OCI runtimes take orders from annotations: crun loads plugins and keeps groups by `run.oci.*`, runc reads a criu
 * configuration by `org.criu.config`, Kata its whole hypervisor. Whoever creates a pod writes its annotations, so only
 * those of Kubernetes itself, which no runtime obeys, are handed on.
 */
function harmless(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => name.startsWith("io.kubernetes.")),
  );
}
