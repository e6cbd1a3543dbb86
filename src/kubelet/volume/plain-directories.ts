import type { Mounter } from "./mounter.ts";

/** For a node on which no container ever runs: a directory does where a mount would be, and needs no root. */
export const plainDirectories: Mounter = {
  isMountPoint: async () => false,
  mountPointsBelow: async () => [],
  mountTmpfs: async () => {},
  bind: async () => {},
  unmount: async () => {},
};
