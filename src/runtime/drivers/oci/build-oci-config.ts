import { containerCgroup } from "../../../lib/cgroup/cgroup-layout.ts";
import { decideCapabilities } from "../capabilities.ts";
import type { ContainerSpec, LinuxResources } from "../driver.ts";
import {
  type OciConfig,
  type OciDevice,
  type OciDeviceRule,
  ociMounts,
  rootPropagation,
} from "./oci-config.ts";
import { defaultSeccompProfile, type SeccompProfile } from "./seccomp-profile.ts";

/** Facts about the machine and this container. */
export interface OciFacts {
  readonly cgroupVersion: 1 | 2;
  readonly arch: string;
  /** Capabilities of the daemon itself, without the CAP_ prefix. */
  readonly capabilities: readonly string[];
  readonly apparmor: boolean;
  /** Whether cgroups can limit huge pages; runtimes fail where they cannot. */
  readonly hugepages: boolean;
  readonly seccomp: boolean;
  /** Lowest oom_score_adj that may be set; undefined if any may. */
  readonly oomScoreAdjFloor: number | undefined;
  /** Devices of the container; all of the host's if it is privileged. */
  readonly devices: readonly (OciDevice & { readonly permissions: string })[];
  /** Content of the profile of `seccomp: localhost`. */
  readonly localSeccomp: SeccompProfile | undefined;
}

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Builds the config.json of a container. */
export function buildOciConfig(spec: ContainerSpec, facts: OciFacts): OciConfig {
  const { security } = spec;
  const capabilities = decideCapabilities(security, facts.capabilities);
  const prefixed = capabilities.map((name) => `CAP_${name}`);
  const propagation = rootPropagation(spec.mounts);
  const seccomp = chooseSeccomp(spec, facts, capabilities);
  const hostname = spec.namespaces.uts === "host" ? undefined : spec.hostname || undefined;
  return {
    ociVersion: "1.0.2",
    root: { path: spec.rootfs, readonly: spec.readonlyRootfs },
    ...(hostname ? { hostname } : {}),
    process: {
      terminal: spec.terminal,
      user: spec.user,
      args: spec.args,
      env: completeEnv(spec),
      cwd: spec.workingDir || "/",
      // Neither inheritable nor ambient: a file with inheritable capabilities would otherwise restore them.
      capabilities: { bounding: prefixed, effective: prefixed, permitted: prefixed },
      ...(spec.rlimits?.length ? { rlimits: spec.rlimits } : {}),
      noNewPrivileges: security.noNewPrivileges,
      ...(spec.oomScoreAdj === undefined
        ? {}
        : { oomScoreAdj: Math.max(spec.oomScoreAdj, facts.oomScoreAdjFloor ?? -1000) }),
      ...(facts.apparmor && security.apparmorProfile ? { apparmorProfile: security.apparmorProfile } : {}),
    },
    mounts: ociMounts(spec),
    annotations: spec.annotations,
    linux: {
      namespaces: namespacesOf(spec, facts),
      devices: facts.devices.map(({ permissions: _, ...device }) => device),
      cgroupsPath: containerCgroup(spec.cgroupParent, spec.id),
      resources: { devices: deviceRules(spec, facts), ...limitsOf(spec.resources, facts) },
      ...(Object.keys(spec.sysctls).length > 0 ? { sysctl: spec.sysctls } : {}),
      ...(seccomp ? { seccomp } : {}),
      ...(propagation ? { rootfsPropagation: propagation } : {}),
      maskedPaths: security.privileged ? [] : security.maskedPaths,
      readonlyPaths: security.privileged ? [] : [...security.readonlyPaths, ...cgroupRoot(spec, facts)],
    },
  };
}

/**
 * Directory of the cgroup v1 controllers, unless the container mounts its own. runc mounts the controllers read-only, but
 * leaves the tmpfs that contains them writable.
 */
function cgroupRoot({ mounts }: ContainerSpec, { cgroupVersion }: OciFacts): string[] {
  const isOwn = mounts.some(({ destination }) => ["/sys", "/sys/fs", "/sys/fs/cgroup"].includes(destination));
  return cgroupVersion === 1 && !isOwn ? ["/sys/fs/cgroup"] : [];
}

export function completeEnv(spec: Pick<ContainerSpec, "env" | "terminal">): string[] {
  const has = (name: string) => spec.env.some((entry) => entry.startsWith(`${name}=`));
  return [
    ...(has("PATH") ? [] : [defaultPath]),
    ...(spec.terminal && !has("TERM") ? ["TERM=xterm"] : []),
    ...spec.env,
  ];
}

function namespacesOf(spec: ContainerSpec, facts: OciFacts) {
  const { network, ipc, uts, pid } = spec.namespaces;
  const shared = Object.entries({ network, ipc, uts, pid }).flatMap(([type, place]) =>
    place === "host" ? [] : [place === "new" ? { type } : { type, path: place }],
  );
  // With v1 a cgroup namespace would hide limits that tools in older images read by the host's path.
  return [{ type: "mount" }, ...shared, ...(facts.cgroupVersion === 2 ? [{ type: "cgroup" }] : [])];
}

function chooseSeccomp(
  spec: ContainerSpec,
  facts: OciFacts,
  capabilities: readonly string[],
): SeccompProfile | undefined {
  if (spec.security.privileged || !facts.seccomp) return undefined;
  switch (spec.security.seccomp.kind) {
    case "unconfined":
      return undefined;
    case "localhost":
      return facts.localSeccomp;
    case "runtimeDefault":
      return defaultSeccompProfile({ capabilities, arch: facts.arch });
  }
}

function deviceRules(spec: ContainerSpec, facts: OciFacts): OciDeviceRule[] {
  if (spec.security.privileged) return [{ allow: true, access: "rwm" }];
  const asked = facts.devices.map(({ type, major, minor, permissions }) => ({
    allow: true,
    type,
    major,
    minor,
    access: permissions || "rwm",
  }));
  return [{ allow: false, access: "rwm" }, ...asked];
}

function limitsOf(want: LinuxResources, facts: OciFacts) {
  const cpu = given({
    shares: want.cpuShares,
    quota: want.cpuQuota,
    period: want.cpuPeriod,
    cpus: want.cpusetCpus,
    mems: want.cpusetMems,
  });
  const memory = given({
    limit: want.memoryLimitBytes,
    // A limit without a swap limit means no swap: `swap` counts memory and swap together.
    swap: want.memoryLimitBytes ? want.memorySwapLimitBytes || want.memoryLimitBytes : undefined,
  });
  return {
    ...(cpu ? { cpu } : {}),
    ...(memory ? { memory } : {}),
    ...(want.pidsLimit ? { pids: { limit: want.pidsLimit } } : {}),
    ...(facts.hugepages && want.hugepageLimits
      ? {
          hugepageLimits: want.hugepageLimits.map(({ pageSize, limitBytes }) => ({
            pageSize,
            limit: limitBytes,
          })),
        }
      : {}),
    ...(facts.cgroupVersion === 2 && want.unified ? { unified: want.unified } : {}),
  };
}

function given<T extends string | number>(
  values: Record<string, T | undefined>,
): Record<string, T> | undefined {
  const entries = Object.entries(values).filter((entry): entry is [string, T] => Boolean(entry[1]));
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
