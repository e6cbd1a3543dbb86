import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { containPaths } from "./contain-paths.ts";
import type { ContainerSpec, Mount } from "./driver.ts";
import { plainContainer } from "./oci/probe-oci-runtime.ts";

let home: string;
let rootfs: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "contain-"));
  rootfs = directory("rootfs");
});
afterEach(() => rmSync(home, { recursive: true }));

function directory(name: string): string {
  mkdirSync(join(home, name), { recursive: true });
  return join(home, name);
}

const contain = (part: Partial<ContainerSpec>) =>
  containPaths({ ...plainContainer, id: "c", args: ["sh"], rootfs, ...part });

const mountAt = (destination: string, source = directory("volume"), readonly = false): Mount => ({
  ...{ destination, source, readonly },
  ...({ propagation: "private", recursiveReadonly: false } as const),
});

const destinations = async (...mounts: Mount[]) =>
  (await contain({ mounts })).mounts.map(({ destination }) => destination);

describe("containPaths", () => {
  it("orders mounts by their resolved destinations, parents first", async () => {
    symlinkSync("/x/y/z", join(rootfs, "link"));
    expect(await destinations(mountAt("/link"), mountAt("/x"), mountAt("/a/../b"))).toEqual([
      "/x",
      "/b",
      "/x/y/z",
    ]);
    expect(statSync(join(home, "volume/y/z")).isDirectory()).toBe(true);
    expect(readdirSync(rootfs)).not.toContain("y");
  });

  it("follows the links of a volume into the root and into other volumes", async () => {
    const outer = directory("outer");
    symlinkSync("/other/deep", join(outer, "sub"));
    const mounts = [mountAt("/data/sub/x"), mountAt("/data", outer), mountAt("/other")];
    expect(await destinations(...mounts)).toEqual(["/data", "/other", "/other/deep/x"]);
  });

  it("rejects volumes whose links form a loop", async () => {
    const [one, two] = [directory("one"), directory("two")];
    symlinkSync("/two/x", join(one, "x"));
    symlinkSync("/one/x", join(two, "x"));
    const mounts = [mountAt("/one", one), mountAt("/two", two), mountAt("/one/x/y")];
    await expect(contain({ mounts })).rejects.toThrow("more than 40 symbolic links");
  });

  it("creates mount points of the source's type, but not in a read-only volume", async () => {
    const file = join(directory("volume"), "file");
    writeFileSync(file, "");
    await contain({ mounts: [mountAt("/etc/hosts", file), mountAt("/data")] });
    expect(statSync(join(rootfs, "etc/hosts")).isFile()).toBe(true);
    expect(statSync(join(rootfs, "data")).isDirectory()).toBe(true);
    const readonly = mountAt("/config", directory("config"), true);
    await expect(contain({ mounts: [readonly, mountAt("/config/sub")] })).rejects.toThrow(
      "path /config/sub cannot be used in the container: it does not exist, and the mount at /config is read-only",
    );
    await expect(contain({ mounts: [readonly], workingDir: "/config/sub" })).rejects.toThrow("read-only");
    expect(readdirSync(join(home, "config"))).toEqual([]);
  });

  it.each([
    ["/dev", "/dev/shm"],
    ["/sys", "/sys/fs/cgroup"],
  ])("rejects a volume at %s with a link at %s", async (destination, path) => {
    const volume = directory("volume");
    const inVolume = join(volume, path.slice(destination.length));
    mkdirSync(join(inVolume, ".."), { recursive: true });
    symlinkSync("/etc", inVolume);
    await expect(contain({ mounts: [mountAt(destination)] })).rejects.toThrow(
      `a volume has a symbolic link at ${path} (${path} -> /etc)`,
    );
  });

  it.each([
    [{ mounts: [mount("/", "/tmp")] }, "cannot mount anything at /: it is the container's root"],
    [{ mounts: [mount("/x", "/not/there")] }, "mount source /not/there does not exist"],
    [{ workingDir: "tmp" }, "the working directory tmp is not an absolute path"],
    [{ devices: [device("/dev/fd/0")] }, "it is a link of the kernel"],
  ])("rejects %j", async (part, problem) => {
    await expect(contain(part)).rejects.toThrow(problem);
  });

  it("creates the working directory and keeps devices in the root", async () => {
    symlinkSync("../../../srv", join(rootfs, "work"));
    const { workingDir, devices } = await contain({
      workingDir: "/work/a",
      devices: [device("/dev/../x/null")],
    });
    expect(workingDir).toBe("/srv/a");
    expect(statSync(join(rootfs, "srv/a")).isDirectory()).toBe(true);
    expect(devices.map(({ containerPath }) => containerPath)).toEqual(["/x/null"]);
  });
});

function mount(destination: string, source: string): Mount {
  return { destination, source, readonly: false, propagation: "private", recursiveReadonly: false };
}

function device(containerPath: string): ContainerSpec["devices"][number] {
  return { hostPath: "/dev/null", containerPath, permissions: "rw" };
}
