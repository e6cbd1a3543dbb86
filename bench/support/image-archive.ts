import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeImageArchive } from "../../test/support/registry/image-archive.ts";

export const sleeperImage = "bench.local/sleeper:1";

/** Docker archive of an image that sleeps. */
export function writeSleeperArchive(folder: string): string {
  const root = join(folder, "sleeper");
  mkdirSync(join(root, "bin"), { recursive: true });
  cpSync("/bin/busybox", join(root, "bin/busybox"));
  return writeImageArchive({ root, tag: sleeperImage, entrypoint: ["/bin/busybox"] });
}
