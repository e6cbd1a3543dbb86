import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { dnsSubdomainProblems } from "../../meta/names.ts";
import type { Container, PodSpec } from "../../meta/objects.ts";

const netBiosDomain = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsDomain =
  /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

export function validateWindowsOptions(options: k8s.V1WindowsSecurityContextOptions, at: FieldErrors): void {
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options;
  if (gmsaCredentialSpecName !== undefined) {
    at.problems(
      "gmsaCredentialSpecName",
      gmsaCredentialSpecName,
      dnsSubdomainProblems(gmsaCredentialSpecName),
    );
  }
  if (gmsaCredentialSpec === "") {
    at.invalid("gmsaCredentialSpec", "", "gmsaCredentialSpec cannot be an empty string");
  } else if ((gmsaCredentialSpec?.length ?? 0) > 64 * 1024) {
    at.invalid("gmsaCredentialSpec", gmsaCredentialSpec, "gmsaCredentialSpec size must be under 64 KiB");
  }
  if (runAsUserName !== undefined) {
    at.problems("runAsUserName", runAsUserName, windowsUserProblems(runAsUserName));
  }
}

/** `user` or `domain\user`. */
function windowsUserProblems(name: string): string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(name)) return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const user = parts.at(-1) ?? "";
  const domain = parts.length === 2 ? (parts[0] ?? "") : undefined;
  const problems: string[] = [];
  if (domain !== undefined) {
    if (domain.length >= 256) problems.push("runAsUserName's Domain length must be under 256 characters");
    if (!netBiosDomain.test(domain) && !dnsDomain.test(domain)) {
      problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    }
  }
  if (user === "") problems.push("runAsUserName's User cannot be empty");
  if (user.length > 104) problems.push("runAsUserName's User length must not be longer than 104 characters");
  if (/^[. ]+$/.test(user)) problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    problems.push("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
  }
  return problems;
}

/** Linux fields that Windows pods must not set. */
const linuxPodContext = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
] as const satisfies readonly (keyof k8s.V1PodSecurityContext)[];
const linuxContainerContext = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const satisfies readonly (keyof k8s.V1SecurityContext)[];

export function validateOs(spec: PodSpec, at: FieldErrors): void {
  if (!spec.os) return;
  if (!spec.os.name) {
    at.required("os.name");
    return;
  }
  if (spec.os.name === "linux") validateLinuxPod(spec, at);
  else if (spec.os.name === "windows") validateWindowsPod(spec, at);
  else at.notSupported("os", spec.os.name, ["linux", "windows"]);
}

function validateLinuxPod(spec: PodSpec, at: FieldErrors): void {
  const detail = "windows options cannot be set for a linux pod";
  if (spec.securityContext?.windowsOptions) at.forbidden("securityContext.windowsOptions", detail);
  eachContainer(spec, at, (container, place) => {
    if (container.securityContext?.windowsOptions) place.forbidden("securityContext.windowsOptions", detail);
  });
}

function validateWindowsPod(spec: PodSpec, at: FieldErrors): void {
  const reject = (place: FieldErrors, field: string) =>
    place.forbidden(field, "cannot be set for a windows pod");
  const rejectContext = (field: (typeof linuxPodContext)[number]) => {
    if (spec.securityContext?.[field] !== undefined) reject(at, `securityContext.${field}`);
  };
  const [appArmor, seLinux, ...others] = linuxPodContext;
  rejectContext(appArmor);
  rejectContext(seLinux);
  if (spec.hostUsers !== undefined) reject(at, "hostUsers");
  if (spec.hostPID) reject(at, "hostPID");
  if (spec.hostIPC) reject(at, "hostIPC");
  others.forEach(rejectContext);
  if (spec.shareProcessNamespace !== undefined) reject(at, "shareProcessNamespace");
  eachContainer(spec, at, (container, place) => {
    for (const field of linuxContainerContext) {
      if (container.securityContext?.[field] !== undefined) reject(place, `securityContext.${field}`);
    }
  });
}

/** Validates HostProcess containers: either all containers of a pod or none. */
export function validateHostProcess(spec: PodSpec, at: FieldErrors): void {
  const podValue = spec.securityContext?.windowsOptions?.hostProcess;
  let containers = 0;
  let hostProcesses = 0;
  eachContainer(spec, at, (container, place) => {
    const value = container.securityContext?.windowsOptions?.hostProcess;
    containers++;
    if (value ?? podValue) hostProcesses++;
    if (podValue !== undefined && value !== undefined && podValue !== value) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${podValue}`;
      place.invalid("securityContext.windowsOptions.hostProcess", value, detail);
    }
  });
  if (hostProcesses === 0) return;
  if (hostProcesses !== containers) {
    const detail =
      "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    at.invalid("", "", detail);
  }
  if (!spec.hostNetwork) {
    at.invalid("hostNetwork", false, "hostNetwork must be true if pod contains any hostProcess containers");
  }
}

export function eachContainer(
  spec: PodSpec,
  at: FieldErrors,
  check: (container: Container, at: FieldErrors) => void,
): void {
  at.each("initContainers", spec.initContainers, check);
  at.each("containers", spec.containers, check);
  at.each("ephemeralContainers", spec.ephemeralContainers, check);
}
