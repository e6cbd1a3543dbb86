import { join } from "node:path";
import type { Container, Pod } from "../../api/objects.ts";
import { SecurityProfile_ProfileType as ProfileType, type SecurityProfile } from "../../cri/generated/cri.ts";
import { configError } from "./config-error.ts";

interface SeccompSettings {
  /** Where profiles of the node are. */
  readonly profilesDirectory: string;
  /** Whether containers that say nothing are confined. */
  readonly confineByDefault: boolean;
}

/** The container's own goes before the pod's. */
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
  /** For runtimes that do not know the other yet. */
  readonly apparmorProfile?: string;
}

/** The container's own, then its annotation (static pods may still have that), then the pod's. */
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
