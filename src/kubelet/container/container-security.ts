import { userIdProblems } from "../../api/names.ts";
import type { Container, Pod } from "../../api/objects.ts";
import { LinuxContainerSecurityContext } from "../../cri/generated/cri.ts";
import { configError, describePod } from "./config-error.ts";
import { idValue, namespaceOptions, podGroups, selinuxOption } from "./pod-security.ts";
import { appArmorProfile, seccompProfile } from "./security-profile.ts";

/** Whom an image wants to run as: a number, or a name that only its own user database knows. */
export type ImageUser = { readonly uid: number } | { readonly username: string };

interface SecuritySettings {
  readonly profilesDirectory: string;
  readonly confineByDefault: boolean;
  /** Sensors of this machine, masked with the rest of what tells of it. */
  readonly thermalPaths: readonly string[];
}

interface SecurityRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly imageUser: ImageUser;
}

/** The pod's security settings with the container's over them. Throws CreateContainerConfigError. */
export function containerSecurity(
  request: SecurityRequest,
  settings: SecuritySettings,
): LinuxContainerSecurityContext {
  const { pod, container, imageUser } = request;
  refuseRoot(request);
  const own = container.securityContext;
  const { runAsUser, runAsGroup, seLinuxOptions } = { ...pod.spec?.securityContext, ...defined(own) };
  const isUnmasked = own?.procMount === "Unmasked";
  return LinuxContainerSecurityContext.fromPartial({
    capabilities: own?.capabilities && {
      addCapabilities: own.capabilities.add ?? [],
      dropCapabilities: own.capabilities.drop ?? [],
    },
    privileged: own?.privileged ?? false,
    namespaceOptions: namespaceOptions(pod.spec),
    selinuxOptions: selinuxOption(seLinuxOptions),
    ...(runAsUser === undefined ? userOf(imageUser) : { runAsUser: idValue(runAsUser) }),
    runAsGroup: idValue(runAsGroup),
    readonlyRootfs: own?.readOnlyRootFilesystem ?? false,
    ...podGroups(pod),
    noNewPrivs: own?.allowPrivilegeEscalation === false,
    maskedPaths: isUnmasked ? [] : [...maskedPaths, ...settings.thermalPaths],
    readonlyPaths: isUnmasked ? [] : readonlyPaths,
    seccomp: seccompProfile(pod, container, settings),
    ...appArmorProfile(pod, container),
  });
}

function userOf(user: ImageUser): Partial<LinuxContainerSecurityContext> {
  return "uid" in user ? { runAsUser: idValue(user.uid) } : { runAsUsername: user.username };
}

/** `runAsNonRoot` can be kept only where the user is known by number. */
function refuseRoot({ pod, container, imageUser }: SecurityRequest): void {
  const settings = { ...pod.spec?.securityContext, ...defined(container.securityContext) };
  if (!settings.runAsNonRoot) return;
  const where = `(pod: "${describePod(pod)}", container: ${container.name})`;
  if (settings.runAsUser !== undefined) {
    if (settings.runAsUser !== 0) return;
    throw configError(`container's runAsUser breaks non-root policy ${where}`);
  }
  if (!("uid" in imageUser)) {
    const what = `image has non-numeric user (${imageUser.username}), cannot verify user is non-root`;
    throw configError(`container has runAsNonRoot and ${what} ${where}`);
  }
  const { uid } = imageUser;
  if (uid === 0) throw configError(`container has runAsNonRoot and image will run as root ${where}`);
  const problems = userIdProblems(uid);
  if (problems.length === 0) return;
  const range = `(Must be 1-(${2 ** 31 - 1})): ${problems.join("; ")}`;
  throw configError(
    `container has runAsNonRoot and image has an invalid user id (${uid}). ${range} ${where}`,
  );
}

/** What the container leaves open is the pod's to say. */
function defined(context: Container["securityContext"]): NonNullable<Container["securityContext"]> {
  return Object.fromEntries(Object.entries(context ?? {}).filter(([, value]) => value !== undefined));
}

const maskedPaths = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
];

const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
