import type * as k8s from "@kubernetes/client-node";
import type { Container } from "../objects.ts";
import { validateDescendingPath } from "./path.ts";
import type { Report } from "./report.ts";
import type { Volume } from "./volume.ts";

export function validateMounts(container: Container, at: Report, volumes: ReadonlyMap<string, Volume>): void {
  const { volumeMounts, volumeDevices } = container;
  if (volumeMounts) {
    const seen = new Set<string>();
    const list = at.child("volumeMounts");
    const devices = usesOf(volumeDevices?.map(({ name, devicePath }) => ({ name, path: devicePath })));
    list.each("", volumeMounts, (mount, place) => {
      if (!mount.name) place.required("name");
      if (!volumes.has(mount.name)) place.notFound("name", mount.name);
      if (!mount.mountPath) place.required("mountPath");
      if (seen.has(mount.mountPath)) place.invalid("mountPath", mount.mountPath, "must be unique");
      seen.add(mount.mountPath);
      validateNotUsed({ name: mount.name, path: mount.mountPath }, "mountPath", place, devices);
      validateMount(mount, place, list, container.securityContext?.privileged ?? false);
    });
  }
  if (volumeDevices) validateDevices(volumeDevices, at.child("volumeDevices"), { volumes, volumeMounts });
}

interface Uses {
  readonly list: "volumeDevices" | "volumeMounts";
  readonly names: ReadonlySet<string>;
  readonly paths: ReadonlySet<string>;
}

function usesOf(uses: { name: string; path: string }[] = [], list: Uses["list"] = "volumeDevices"): Uses {
  return { list, names: new Set(uses.map(({ name }) => name)), paths: new Set(uses.map(({ path }) => path)) };
}

/** A volume is either mounted or handed over as a device. */
function validateNotUsed(
  use: { name: string; path: string },
  pathField: string,
  at: Report,
  other: Uses,
): void {
  if (other.names.has(use.name)) at.invalid("name", use.name, `must not already exist in ${other.list}`);
  if (other.paths.has(use.path)) {
    at.invalid(pathField, use.path, `must not already exist as a path in ${other.list}`);
  }
}

/** Some fields of a mount are reported at the list: so does upstream. */
function validateMount(mount: k8s.V1VolumeMount, at: Report, list: Report, privileged: boolean): void {
  const { subPath, subPathExpr, mountPropagation, recursiveReadOnly } = mount;
  if (subPath) validateDescendingPath(subPath, list.child("subPath"));
  if (subPathExpr) {
    if (subPath) at.invalid("subPathExpr", subPathExpr, "subPathExpr and subPath are mutually exclusive");
    validateDescendingPath(subPathExpr, list.child("subPathExpr"));
  }
  list.oneOf("mountPropagation", mountPropagation, ["Bidirectional", "HostToContainer", "None"]);
  if (mountPropagation === "Bidirectional" && !privileged) {
    const detail = "Bidirectional mount propagation is available only to privileged containers";
    list.forbidden("mountPropagation", detail);
  }
  list.oneOf("recursiveReadOnly", recursiveReadOnly, ["Disabled", "Enabled", "IfPossible"]);
  if (recursiveReadOnly !== "Enabled" && recursiveReadOnly !== "IfPossible") return;
  if (!mount.readOnly) list.forbidden("recursiveReadOnly", "may only be specified when readOnly is true");
  if (mountPropagation && mountPropagation !== "None") {
    const detail = "may only be specified when mountPropagation is None or not specified";
    list.forbidden("recursiveReadOnly", detail);
  }
}

function validateDevices(
  devices: k8s.V1VolumeDevice[],
  at: Report,
  pod: { volumes: ReadonlyMap<string, Volume>; volumeMounts: k8s.V1VolumeMount[] | undefined },
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mounted = pod.volumeMounts?.map(({ name, mountPath }) => ({ name, path: mountPath }));
  const mounts = usesOf(mounted, "volumeMounts");
  at.each("", devices, ({ name, devicePath }, place) => {
    const volume = pod.volumes.get(name);
    if (!name) place.required("name");
    if (names.has(name)) place.invalid("name", name, "must be unique");
    if (!volume) place.notFound("name", name);
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      place.invalid("name", name, detail);
    }
    if (!devicePath) place.required("devicePath");
    if (paths.has(devicePath)) place.invalid("devicePath", devicePath, "must be unique");
    if (devicePath?.split("/").includes("..")) {
      place.invalid("devicePath", devicePath, "can not contain backsteps ('..')");
    }
    validateNotUsed({ name, path: devicePath }, "devicePath", place, mounts);
    names.add(name);
    paths.add(devicePath);
  });
}
