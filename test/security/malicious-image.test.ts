import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { volumeMounts } from "../../src/runtime/container/container-mounts.ts";
import { resolveUser } from "../../src/runtime/container/resolve-user.ts";
import { type ContractBench, createContractBench } from "../../src/runtime/driver/contract/contract-bench.ts";
import { createHostDriver } from "../../src/runtime/driver/host/host-driver.ts";
import { openImages } from "../support/images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { describeWithTool, toolPath } from "../support/tools.ts";

test("an image that calls root 1000 does not make root of who runs as 1000", () => {
  const files = { passwd: "1000:x:0:0::/:/bin/sh\n", group: "2000:x:0:\n" };
  const request = { group: undefined, supplementalGroups: [], mergeImageGroups: true };
  expect(resolveUser({ ...request, user: "1000" }, files)).toMatchObject({ uid: 1000, gid: 0 });
  expect(resolveUser({ ...request, user: "1000:2000" }, files)).toMatchObject({ uid: 1000, gid: 2000 });
});

test("what an image has in a volume is copied without opening its devices and pipes", async () => {
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
});

test("what containers leave in their roots is out of reach for the machine's other users", async () => {
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

  test("load nothing of it, ask it for no names and call none of its helpers", async () => {
    const user = { uid: 1000, gid: 1000, additionalGids: [1000] };
    // The loader complains in the log of every library that it was told to load and did not find.
    const { log } = await bench.run({ rootfs: hostileRootfs(), user, args: ["sh", "-c", show] });
    expect(log).toEqual(clean);
  });

  test("nor when a command is run in it later", async () => {
    const user = { uid: 1000, gid: 1000, additionalGids: [1000] };
    const { id } = await bench.started({ rootfs: hostileRootfs(), user, args: ["sleep", "100"] });
    const { out, err } = await bench.exec(id, ["sh", "-c", show]);
    expect({ out: out.trim().split("\n"), err }).toEqual({ out: clean, err: "" });
  });

  describe("are nobody's to replace", () => {
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
