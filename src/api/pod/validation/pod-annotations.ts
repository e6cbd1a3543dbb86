import type { FieldErrors } from "../../meta/field-errors.ts";
import type { ObjectMeta, PodSpec } from "../../meta/objects.ts";
import { validateDescendingPath } from "../../meta/validate-path.ts";
import { mirrorAnnotation } from "../pod-state.ts";
import { eachContainer } from "./windows.ts";

type Annotations = Record<string, string>;

const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const podSeccomp = "seccomp.security.alpha.kubernetes.io/pod";
const containerSeccomp = "container.seccomp.security.alpha.kubernetes.io/";
const containerAppArmor = "container.apparmor.security.beta.kubernetes.io/";

/** Validates annotations that Kubernetes uses. */
export function validatePodAnnotations(annotations: Annotations, at: FieldErrors, spec: PodSpec): void {
  const mirror = annotations[mirrorAnnotation];
  if (mirror !== undefined && !spec.nodeName) {
    const detail = "must set spec.nodeName if mirror pod annotation is set";
    at.invalid(`[${mirrorAnnotation}]`, mirror, detail);
  }
  const cost = annotations[deletionCost];
  if (cost !== undefined && !isInt32(cost)) {
    at.invalid(`[${deletionCost}]`, cost, "must be a 32bit integer");
  }
  let names: ReadonlySet<string> | undefined;
  for (const key in annotations) {
    const value = annotations[key] ?? "";
    if (key === podSeccomp || key.startsWith(containerSeccomp)) {
      validateSeccompAnnotation(value, at.child(key));
    } else if (key.startsWith(containerAppArmor)) {
      const name = key.slice(containerAppArmor.length);
      names ??= containerNames(spec);
      if (!names.has(name)) at.invalid(`[${key}]`, name, "container not found");
      if (!["", "runtime/default", "unconfined"].includes(value) && !value.startsWith("localhost/")) {
        at.invalid(`[${key}]`, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`);
      }
    }
  }
}

/** Whether the text is a 32-bit integer without plus sign and leading zeros. */
function isInt32(text: string): boolean {
  return /^(?:0|-?[1-9][0-9]{0,9})$/.test(text) && Number(text) === (Number(text) | 0);
}

function containerNames({
  initContainers = [],
  containers = [],
  ephemeralContainers = [],
}: PodSpec): Set<string> {
  return new Set([...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name));
}

function validateSeccompAnnotation(profile: string, at: FieldErrors): void {
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return;
  if (profile.startsWith("localhost/")) validateDescendingPath(profile.slice("localhost/".length), at);
  else at.invalid("", profile, "must be a valid seccomp profile");
}

export function validatePodAnnotationUpdate(next: ObjectMeta, current: ObjectMeta, at: FieldErrors): void {
  const after = next.annotations ?? {};
  const before = current.annotations ?? {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (after[key] === before[key]) continue;
    const verb = key in before ? "remove or update" : "add";
    if (key.startsWith(containerAppArmor)) at.forbidden(`[${key}]`, `may not ${verb} AppArmor annotations`);
    if (key === mirrorAnnotation) at.forbidden(`[${key}]`, `may not ${verb} mirror pod annotation`);
  }
}

interface Profile {
  readonly type: string;
  readonly localhostProfile?: string;
}

/** Checks that a deprecated annotation and the field that replaced it agree. */
export function validateProfilesAgree(annotations: Annotations, spec: PodSpec, at: FieldErrors): void {
  const podContext = spec.securityContext;
  const podAnnotation = annotations[podSeccomp];
  if (podContext?.seccompProfile && podAnnotation !== undefined) {
    validateAgree(podAnnotation, podContext.seccompProfile, at.child("securityContext.seccompProfile"));
  }
  eachContainer(spec, at, ({ name, securityContext }, place) => {
    const seccomp = annotations[containerSeccomp + name];
    if (securityContext?.seccompProfile && seccomp !== undefined) {
      validateAgree(seccomp, securityContext.seccompProfile, place.child("securityContext.seccompProfile"));
    }
    const appArmor = annotations[containerAppArmor + name];
    const profile = securityContext?.appArmorProfile ?? podContext?.appArmorProfile;
    if (profile && appArmor !== undefined && spec.os?.name !== "windows") {
      validateAgree(appArmor, profile, place.child("securityContext.appArmorProfile"));
    }
  });
}

const annotatedTypes: Readonly<Record<string, string>> = {
  "runtime/default": "RuntimeDefault",
  "docker/default": "RuntimeDefault",
  unconfined: "Unconfined",
};

function validateAgree(annotation: string, { type, localhostProfile }: Profile, at: FieldErrors): void {
  const what = at.path.endsWith("seccompProfile") ? "seccomp" : "apparmor";
  const local = annotation.startsWith("localhost/");
  if ((local ? "Localhost" : annotatedTypes[annotation]) !== type) {
    at.forbidden("type", `${what} type in annotation and field must match`);
  } else if (local && annotation.slice("localhost/".length) !== localhostProfile) {
    at.forbidden("localhostProfile", `${what} profile in annotation and field must match`);
  }
}
