import type * as k8s from "@kubernetes/client-node";
import type { Container } from "../objects.ts";
import { validateDescendingPath } from "./path.ts";
import type { Report } from "./report.ts";
import type { Volume } from "./volume.ts";

export function validateMounts(container: Container, at: Report, volumes: ReadonlyMap<string, Volume>): void {
  const { volumeMounts, volumeDevices, securityContext } = container;
  if (!volumeMounts && !volumeDevices) return;
  const mounts = new Uses(
    "volumeMounts",
    volumeMounts?.map(({ name, mountPath }) => [name, mountPath]),
  );
  const devices = new Uses(
    "volumeDevices",
    volumeDevices?.map(({ name, devicePath }) => [name, devicePath]),
  );

  const list = at.child("volumeMounts");
  const paths = new Set<string>();
  list.each("", volumeMounts, (mount, place) => {
    const { name, mountPath } = mount;
    if (!name) place.required("name");
    if (!volumes.has(name)) place.notFound("name", name);
    if (!mountPath) place.required("mountPath");
    if (paths.has(mountPath)) place.invalid("mountPath", mountPath, "must be unique");
    paths.add(mountPath);
    devices.refuse("name", name, place);
    devices.refuse("mountPath", mountPath, place);
    validateMount(mount, { at: place, list, privileged: securityContext?.privileged ?? false });
  });
  validateDevices(volumeDevices, at.child("volumeDevices"), { volumes, mounts });
}

/** How volumes are used in one way. A volume is either mounted or handed over as a device, never both. */
class Uses {
  private readonly list: string;
  private readonly names: ReadonlySet<string>;
  private readonly paths: ReadonlySet<string>;

  constructor(list: string, uses: readonly (readonly [name: string, path: string])[] = []) {
    this.list = list;
    this.names = new Set(uses.map(([name]) => name));
    this.paths = new Set(uses.map(([, path]) => path));
  }

  refuse(field: "name" | "mountPath" | "devicePath", value: string, at: Report): void {
    const isName = field === "name";
    if (!(isName ? this.names : this.paths).has(value)) return;
    at.invalid(field, value, `must not already exist ${isName ? "" : "as a path "}in ${this.list}`);
  }
}

/** Some fields of a mount are reported at the list: so does upstream. */
function validateMount(
  mount: k8s.V1VolumeMount,
  { at, list, privileged }: { at: Report; list: Report; privileged: boolean },
): void {
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
  devices: k8s.V1VolumeDevice[] | undefined,
  at: Report,
  { volumes, mounts }: { volumes: ReadonlyMap<string, Volume>; mounts: Uses },
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  at.each("", devices, ({ name, devicePath }, place) => {
    const volume = volumes.get(name);
    if (!name) place.required("name");
    if (names.has(name)) place.invalid("name", name, "must be unique");
    names.add(name);
    if (!volume) place.notFound("name", name);
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      place.invalid("name", name, detail);
    }
    if (!devicePath) place.required("devicePath");
    if (paths.has(devicePath)) place.invalid("devicePath", devicePath, "must be unique");
    paths.add(devicePath);
    if (devicePath?.split("/").includes("..")) {
      place.invalid("devicePath", devicePath, "can not contain backsteps ('..')");
    }
    mounts.refuse("name", name, place);
    mounts.refuse("devicePath", devicePath, place);
  });
}
