import { join } from "node:path";
import { userIdProblems } from "../../api/meta/names.ts";
import type { Container, Pod, PodSpec } from "../../api/meta/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { defaultMaskedPaths, defaultReadonlyPaths } from "../../cri/default-paths.ts";
import {
  ImageSpec,
  LinuxContainerSecurityContext,
  NamespaceMode,
  type NamespaceOption,
  SecurityProfile_ProfileType as ProfileType,
  type SELinuxOption,
  type SecurityProfile,
  SupplementalGroupsPolicy,
} from "../../cri/generated/cri.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import { describePod } from "../model/cri-labels.ts";
import { configError } from "../model/start-error.ts";

/** User of an image: a UID, or a name that only the image's user database can resolve. */
export type ImageUser = { readonly uid: number } | { readonly username: string };

interface SecuritySettings {
  readonly profilesDirectory: string;
  readonly confineByDefault: boolean;
  /** Thermal sensors of this machine; masked. */
  readonly thermalPaths: readonly string[];
}

interface SecurityRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly imageUser: ImageUser;
}

/** Security context of a container, with the pod's settings as defaults. Throws CreateContainerConfigError. */
export function containerSecurity(
  request: SecurityRequest,
  settings: SecuritySettings,
): LinuxContainerSecurityContext {
  const { pod, container, imageUser } = request;
  checkNonRoot(request);
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
    maskedPaths: isUnmasked ? [] : [...defaultMaskedPaths, ...settings.thermalPaths],
    readonlyPaths: isUnmasked ? [] : [...defaultReadonlyPaths],
    seccomp: seccompProfile(pod, container, settings),
    ...appArmorProfile(pod, container),
  });
}

function userOf(user: ImageUser): Partial<LinuxContainerSecurityContext> {
  return "uid" in user ? { runAsUser: idValue(user.uid) } : { runAsUsername: user.username };
}

/** Enforces `runAsNonRoot`, which requires a numeric user. */
function checkNonRoot({ pod, container, imageUser }: SecurityRequest): void {
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

/** Drops undefined fields, so that the pod's settings apply. */
function defined(context: Container["securityContext"]): NonNullable<Container["securityContext"]> {
  return Object.fromEntries(Object.entries(context ?? {}).filter(([, value]) => value !== undefined));
}

/** Reads the user of an image, which applies unless the pod sets another. */
export type ImageUserReader = (imageRef: string, signal: AbortSignal) => Promise<ImageUser>;

/** Cache size: more images than a node uses at a time. */
const capacity = 500;

/**
 * Creates a reader that asks the runtime once per image. References with a digest are cached, because they never
 * change.
 */
export function createImageUserReader(cri: {
  readonly images: Pick<CriClient["images"], "imageStatus">;
}): ImageUserReader {
  const known = createLruMap<ImageUser>(capacity);
  return async (imageRef, signal) => {
    const before = known.get(imageRef);
    if (before) return before;
    const image = ImageSpec.fromPartial({ image: imageRef });
    const { image: found } = await cri.images.imageStatus({ image, verbose: false }, { signal });
    // An image without a user runs as root.
    const named = found?.username ? { username: found.username } : { uid: 0 };
    const user = found?.uid ? { uid: Number(found.uid.value) } : named;
    if (found && imageRef.includes("sha256:")) known.set(imageRef, user);
    return user;
  };
}

interface SeccompSettings {
  /** Directory of the node's seccomp profiles. */
  readonly profilesDirectory: string;
  /** Whether containers without a profile get the runtime's default profile. */
  readonly confineByDefault: boolean;
}

/** Seccomp profile of a container. Its own profile takes precedence over the pod's. */
export function seccompProfile(pod: Pod, container: Container, settings: SeccompSettings): SecurityProfile {
  const given = container.securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;
  switch (given?.type) {
    case "RuntimeDefault":
      return runtimeDefault;
    case "Localhost":
      return {
        profileType: ProfileType.Localhost,
        localhostRef: profilePath(given.localhostProfile, settings),
      };
    case undefined:
      return settings.confineByDefault ? runtimeDefault : unconfined;
    default:
      return unconfined;
  }
}

const runtimeDefault: SecurityProfile = { profileType: ProfileType.RuntimeDefault, localhostRef: "" };
const unconfined: SecurityProfile = { profileType: ProfileType.Unconfined, localhostRef: "" };

function profilePath(profile: string | undefined, { profilesDirectory }: SeccompSettings): string {
  if (!profile) throw configError("localhostProfile must be set if seccompProfile type is Localhost.");
  if (profile.split("/").includes("..")) throw configError("localhostProfile must not contain '..'");
  return join(profilesDirectory, profile);
}

interface AppArmor {
  readonly apparmor?: SecurityProfile;
  /** Deprecated field for older runtimes. */
  readonly apparmorProfile?: string;
}

/** AppArmor profile: the container's own, then the deprecated annotation, then the pod's. */
export function appArmorProfile(pod: Pod, container: Container): AppArmor {
  const annotation =
    pod.metadata.annotations?.[`container.apparmor.security.beta.kubernetes.io/${container.name}`];
  const given =
    container.securityContext?.appArmorProfile ??
    readAnnotation(annotation) ??
    pod.spec?.securityContext?.appArmorProfile;
  switch (given?.type) {
    case undefined:
      return {};
    case "RuntimeDefault":
      return { apparmor: runtimeDefault, apparmorProfile: "runtime/default" };
    case "Unconfined":
      return { apparmor: unconfined, apparmorProfile: "unconfined" };
    case "Localhost": {
      const name = given.localhostProfile;
      if (!name) throw configError("missing localhost apparmor profile name");
      const apparmor = { profileType: ProfileType.Localhost, localhostRef: name };
      return { apparmor, apparmorProfile: `localhost/${name}` };
    }
    default:
      throw configError(`unknown apparmor profile type: ${JSON.stringify(given?.type)}`);
  }
}

function readAnnotation(text: string | undefined): { type: string; localhostProfile?: string } | undefined {
  if (!text) return undefined;
  if (text === "runtime/default") return { type: "RuntimeDefault" };
  if (text === "unconfined") return { type: "Unconfined" };
  const [, localhostProfile] = /^localhost\/(.+)$/s.exec(text) ?? [];
  return localhostProfile ? { type: "Localhost", localhostProfile } : undefined;
}

/** Namespaces that the pod's containers share with the node or with each other. */
export function namespaceOptions(spec: PodSpec | undefined): NamespaceOption {
  return {
    network: spec?.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: spec?.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: pidMode(spec),
    targetId: "",
    usernsOptions: undefined,
  };
}

function pidMode(spec: PodSpec | undefined): NamespaceMode {
  if (spec?.hostPID) return NamespaceMode.NODE;
  return spec?.shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}

/** Rejects pods that ask for a user namespace: running them in the node's would weaken their isolation. */
export function rejectUserNamespace({ spec }: Pod): void {
  if (spec?.hostUsers !== false) return;
  throw new Error("spec.hostUsers: this node does not support user namespaces for pods; remove the field");
}

export interface Groups {
  readonly supplementalGroups: bigint[];
  readonly supplementalGroupsPolicy: SupplementalGroupsPolicy;
}

/** Supplemental groups of all processes, including the pod's fsGroup. */
export function podGroups({ spec }: Pod): Groups {
  const { fsGroup, supplementalGroups = [], supplementalGroupsPolicy: policy } = spec?.securityContext ?? {};
  if (policy !== undefined && policy !== "Merge" && policy !== "Strict") {
    throw new Error(`unsupported supplementalGroupsPolicy: ${policy}`);
  }
  return {
    supplementalGroups: [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups].map(BigInt),
    supplementalGroupsPolicy: SupplementalGroupsPolicy[policy ?? "Merge"],
  };
}

export function idValue(id: number | undefined): { value: bigint } | undefined {
  return id === undefined ? undefined : { value: BigInt(id) };
}

export function selinuxOption(options: Partial<SELinuxOption> | undefined): SELinuxOption | undefined {
  return options && { user: "", role: "", type: "", level: "", ...options };
}
