import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { volumeMounts } from "../../src/runtime/containers/container-mounts.ts";
import { resolveUser } from "../../src/runtime/containers/resolve-user.ts";
import {
  type ContractBench,
  createContractBench,
} from "../../src/runtime/drivers/contract/contract-bench.ts";
import { createHostDriver } from "../../src/runtime/drivers/host/host-driver.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { describeWithTool, isRoot, toolPath } from "../support/programs/tools.ts";
import { openImages } from "../support/registry/images.ts";

test("an image whose passwd names root 1000 does not give uid 0 to a container that runs as 1000", () => {
  const files = { passwd: "1000:x:0:0::/:/bin/sh\n", group: "2000:x:0:\n" };
  const request = { group: undefined, supplementalGroups: [], mergeImageGroups: true };
  expect(resolveUser({ ...request, user: "1000" }, files)).toMatchObject({ uid: 1000, gid: 0 });
  expect(resolveUser({ ...request, user: "1000:2000" }, files)).toMatchObject({ uid: 1000, gid: 2000 });
});

test.skipIf(!isRoot)(
  "what an image has in a volume is copied without opening its devices and pipes [needs root]",
  async () => {
    const folder = temporaryFolder();
    const rootfs = join(folder, "rootfs");
    mkdirSync(join(rootfs, "data"), { recursive: true });
    writeFileSync(join(rootfs, "data/file"), "plain");
    execFileSync("mkfifo", [join(rootfs, "data/pipe")]);
    // A copy of it would not end.
    execFileSync("mknod", [join(rootfs, "data/zero"), "c", "1", "5"]);
    const [mount] = await volumeMounts({
      volumes: ["/data"],
      rootfs,
      directory: join(folder, "container"),
      taken: [],
    });
    expect(readdirSync(mount?.source ?? "")).toEqual(["file"]);
  },
);

test("files in container roots are not accessible to other users of the machine", async () => {
  const { images, dataDir, remove } = await openImages();
  try {
    expect(images.directory).toBe(dataDir);
    expect(statSync(join(dataDir, "rootfs")).mode & 0o777).toBe(0o700);
  } finally {
    await remove();
  }
});

describeWithTool("busybox", "the host driver's own programs, run in an image", () => {
  let bench: ContractBench;
  beforeAll(async () => {
    bench = await createContractBench({
      busybox: toolPath("busybox"),
      open: (stateDir) => createHostDriver({ stateDir, layout: detectCgroupLayout(), clock: systemClock }),
    });
  });
  afterEach(() => bench.clear());
  afterAll(() => bench?.dispose());

  /** What a loader or the C library would take up before the container's privileges are dropped. */
  function hostileRootfs(): string {
    const rootfs = bench.copyRootfs();
    chmodSync(rootfs, 0o755);
    mkdirSync(join(rootfs, "sbin"));
    writeFileSync(join(rootfs, "etc/ld.so.preload"), "/hostile.so\n");
    writeFileSync(join(rootfs, "etc/nsswitch.conf"), "passwd: hostile\ngroup: hostile\n");
    writeFileSync(join(rootfs, "etc/passwd"), "1000:x:0:0::/:/bin/sh\n+1000:x:0:0::/:/bin/sh\n");
    writeFileSync(join(rootfs, "etc/group"), "1000:x:0:\n");
    for (const type of ["ext4", "overlay", "tmpfs", "xfs", "btrfs"]) {
      const helper = join(rootfs, "sbin", `umount.${type}`);
      writeFileSync(helper, "#!/bin/sh\necho taken > /taken\n");
      chmodSync(helper, 0o755);
    }
    return rootfs;
  }

  const show = "id -u; id -g; ls /taken 2>&1";
  const clean = ["1000", "1000", "ls: /taken: No such file or directory"];

  test("load no library, user database or helper of the image", async () => {
    const user = { uid: 1000, gid: 1000, additionalGids: [1000] };
    // The loader complains in the log about every library that it was asked to load and did not find.
    const { log } = await bench.run({ rootfs: hostileRootfs(), user, args: ["sh", "-c", show] });
    expect(log).toEqual(clean);
  });

  test("nor when exec runs a command in it", async () => {
    const user = { uid: 1000, gid: 1000, additionalGids: [1000] };
    const { id } = await bench.started({ rootfs: hostileRootfs(), user, args: ["sleep", "100"] });
    const { out, err } = await bench.exec(id, ["sh", "-c", show]);
    expect({ out: out.trim().split("\n"), err }).toEqual({ out: clean, err: "" });
  });

  describe("cannot be replaced", () => {
    test.each(["/", "/dev", "/dev/.kindling", "/dev/.old-root/x", "/bin/../dev/"])(
      "nothing is mounted at %s",
      async (destination) => {
        const source = bench.directory("volume");
        const mount = {
          source,
          destination,
          readonly: false,
          recursiveReadonly: false,
          propagation: "private",
        } as const;
        await expect(bench.run({ mounts: [mount] })).rejects.toThrow("cannot mount anything at");
      },
    );
  });
});
