import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { userIdProblems } from "../../meta/names.ts";
import type { PodSpec } from "../../meta/objects.ts";
import { validateDescendingPath } from "../../meta/validate-path.ts";
import { validateWindowsOptions } from "./windows.ts";

export function validateContainerSecurityContext(
  context: k8s.V1SecurityContext,
  at: FieldErrors,
  pod: { readonly hostUsers: boolean },
): void {
  validateUser("runAsUser", context.runAsUser, at);
  validateUser("runAsGroup", context.runAsGroup, at);
  at.oneOf("procMount", context.procMount, ["Default", "Unmasked"]);
  if (pod.hostUsers && context.procMount === "Unmasked") {
    at.invalid("procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`");
  }
  validateProfiles(context, at);
  if (context.allowPrivilegeEscalation !== false) return;
  const reject = (other: string) =>
    at.invalid("", context, `cannot set \`allowPrivilegeEscalation\` to false and ${other}`);
  if (context.privileged) reject("`privileged` to true");
  if (context.capabilities?.add?.includes("CAP_SYS_ADMIN")) reject("`capabilities.Add` CAP_SYS_ADMIN");
}

export function validatePodSecurityContext(spec: PodSpec, at: FieldErrors): void {
  const context = spec.securityContext;
  if (!context) return;
  validateUser("fsGroup", context.fsGroup, at);
  validateUser("runAsUser", context.runAsUser, at);
  validateUser("runAsGroup", context.runAsGroup, at);
  context.supplementalGroups?.forEach((group, i) => {
    validateUser(`supplementalGroups[${i}]`, group, at);
  });
  if (context.sysctls) validateSysctls(context.sysctls, at, spec);
  at.oneOf("fsGroupChangePolicy", context.fsGroupChangePolicy, ["Always", "OnRootMismatch"]);
  validateProfiles(context, at);
  at.oneOf("supplementalGroupsPolicy", context.supplementalGroupsPolicy, ["Merge", "Strict"]);
  at.oneOf("seLinuxChangePolicy", context.seLinuxChangePolicy, ["Recursive"]);
}

function validateUser(field: string, id: number | undefined, at: FieldErrors): void {
  if (id !== undefined) at.problems(field, id, userIdProblems(id));
}

function validateProfiles(context: k8s.V1SecurityContext | k8s.V1PodSecurityContext, at: FieldErrors): void {
  const { seccompProfile, windowsOptions, appArmorProfile } = context;
  if (seccompProfile) validateSeccompProfile(seccompProfile, at.child("seccompProfile"));
  if (windowsOptions) validateWindowsOptions(windowsOptions, at.child("windowsOptions"));
  if (appArmorProfile) validateAppArmorProfile(appArmorProfile, at.child("appArmorProfile"));
}

const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];

function validateSeccompProfile(profile: k8s.V1SeccompProfile, at: FieldErrors): void {
  const { type, localhostProfile } = profile;
  if (!type) at.required("type", "type is required when seccompProfile is set");
  else at.oneOf("type", type, profileTypes);
  if (type !== "Localhost") {
    if (localhostProfile !== undefined) {
      at.invalid("localhostProfile", profile, "can only be set when seccomp type is Localhost");
    }
  } else if (localhostProfile === undefined) {
    at.required("localhostProfile", "must be set when seccomp type is Localhost");
  } else {
    validateDescendingPath(localhostProfile, at.child("localhostProfile"));
  }
}

function validateAppArmorProfile({ type, localhostProfile }: k8s.V1AppArmorProfile, at: FieldErrors): void {
  if (!type) {
    at.required("type", "type is required when appArmorProfile is set");
    return;
  }
  if (!profileTypes.includes(type)) {
    at.notSupported("type", type, profileTypes);
    return;
  }
  if (type !== "Localhost") {
    if (localhostProfile !== undefined) {
      at.invalid("localhostProfile", localhostProfile, "can only be set when AppArmor type is Localhost");
    }
  } else if (!localhostProfile) {
    at.required("localhostProfile", "must be set when AppArmor type is Localhost");
  } else if (localhostProfile.trim() !== localhostProfile) {
    at.invalid("localhostProfile", localhostProfile, "must not be padded with whitespace");
  } else if (localhostProfile.length > 4095) {
    at.tooLong("localhostProfile", 4095);
  }
}

const sysctlSegment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctl = /^[a-z0-9]+(?:[-_]+[a-z0-9]+)*(?:[./][a-z0-9]+(?:[-_]+[a-z0-9]+)*)*$/;

/** Namespaced sysctls. */
const networkSysctl = /^net\./;
const ipcSysctl = /^(?:kernel\.(?:shm|msg)|kernel\.sem$|fs\.mqueue\.)/;

function validateSysctls(sysctls: k8s.V1Sysctl[], at: FieldErrors, spec: PodSpec): void {
  const seen = new Set<string>();
  at.each("sysctls", sysctls, ({ name = "" }, place) => {
    if (!name) place.required("name");
    else if (name.length > 253 || !sysctl.test(name)) {
      const format = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`;
      place.invalid("name", name, `must have at most 253 characters and match regex ${format}`);
    } else if (seen.has(name)) place.duplicate("name", name);
    seen.add(name);
    const dotted = name.replaceAll("/", ".");
    if (spec.hostNetwork && networkSysctl.test(dotted)) {
      place.invalid("name", name, "may not be specified when 'hostNetwork' is true");
    } else if (spec.hostIPC && ipcSysctl.test(dotted)) {
      place.invalid("name", name, "may not be specified when 'hostIPC' is true");
    }
  });
}
