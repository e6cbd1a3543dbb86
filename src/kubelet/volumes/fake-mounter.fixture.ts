import type { Mounter } from "./mounter.ts";

/** Mounter for tests without root that records mounts. */
export interface FakeMounter extends Mounter {
  readonly mounts: Map<string, string>;
  /** Error of all mounts. */
  refusal?: string;
}

export function createFakeMounter(): FakeMounter {
  const mounts = new Map<string, string>();
  const mounter: FakeMounter = {
    mounts,
    isMountPoint: async (path) => mounts.has(path),
    mountPointsBelow: async (directory) =>
      [...mounts.keys()].filter((point) => point.startsWith(`${directory}/`)).reverse(),
    mountTmpfs: async (directory, { sizeBytes }) => mount(directory, `tmpfs ${sizeBytes}`),
    bind: async (source, target) => mount(target, source),
    unmount: async (path) => void mounts.delete(path),
  };

  function mount(target: string, what: string): void {
    if (mounter.refusal) throw new Error(mounter.refusal);
    mounts.set(target, what);
  }
  return mounter;
}
