import { ImageSpec, LinuxContainerResources, type Mount, NamespaceOption } from "../cri/generated/cri.ts";

/**
 * Equal things become one thing: what came over a socket is all copies, and the pods of one template differ in little.
 * Nobody changes what is shared.
 */
export interface Sharing {
  text(value: string): string;
  /** What differs from pod to pod in some of its values. */
  labels(values: Readonly<Record<string, string>>): Record<string, string>;
  image(value: ImageSpec): ImageSpec;
  resources(value: LinuxContainerResources | undefined): LinuxContainerResources | undefined;
  namespaces(value: NamespaceOption | undefined): NamespaceOption | undefined;
  mounts(values: readonly Mount[]): Partial<Mount>[];
}

interface Encoder<T> {
  encode(message: T): { finish(): Uint8Array };
}

/** When so many are known, all are forgotten: the table costs too, and forgetting only means one more copy. */
const capacity = 200;

export function createSharing(): Sharing {
  const texts = new Map<string, string>();
  const text = (value: string) => keep(texts, value, value);
  return {
    text,
    labels: (values) => Object.fromEntries(Object.entries(values).map(([key, value]) => [key, text(value)])),
    image: shareMessages(ImageSpec),
    resources: optional(shareMessages(LinuxContainerResources)),
    namespaces: optional(shareMessages(NamespaceOption)),
    mounts: (values) => values.map((mount) => dropDefaults(mount, text)),
  };
}

function shareMessages<T>(type: Encoder<T>): (value: T) => T {
  const known = new Map<string, T>();
  return (value) => keep(known, Buffer.from(type.encode(value).finish()).toString("latin1"), value);
}

function optional<T>(share: (value: T) => T): (value: T | undefined) => T | undefined {
  return (value) => value && share(value);
}

function keep<T>(known: Map<string, T>, key: string, value: T): T {
  const same = known.get(key);
  if (same !== undefined) return same;
  if (known.size >= capacity) known.clear();
  known.set(key, value);
  return value;
}

/** Most of a mount says nothing. */
function dropDefaults(mount: Mount, text: (value: string) => string): Partial<Mount> {
  const said = Object.entries(mount).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
  return { ...Object.fromEntries(said), containerPath: text(mount.containerPath) };
}
