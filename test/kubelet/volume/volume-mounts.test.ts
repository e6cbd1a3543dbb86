import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeTree } from "../../../src/kubelet/volumes/tear-down.ts";
import { canMount, podWith, type VolumesOnMachine, volumesOnMachine } from "./volumes-on-machine.ts";

const never = new AbortController().signal;

describe.skipIf(!canMount())("volumes with real mounts (skipped where this process may not mount)", () => {
  let machine: VolumesOnMachine;
  beforeEach(() => {
    machine = volumesOnMachine();
  });
  afterEach(() => machine.remove());

  function run(...[program = "", ...args]: string[]): void {
    const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
    expect(`${status} ${stderr}`).toBe("0 ");
  }

  /** A directory outside of the volumes, with a file that must survive. */
  function precious(): { path: string; isWhole(): boolean } {
    const path = join(machine.folder, "precious");
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "file"), "kept");
    return { path, isWhole: () => readFileSync(join(path, "file"), "utf8") === "kept" };
  }

  test("memory and secret volumes are tmpfs, mounted once across restarts, and unmounted with the pod", async () => {
    machine.api.put("secrets", { metadata: { namespace: "shop", name: "key" }, data: { a: "MQ==" } });
    const pod = podWith(
      [
        { name: "shm", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
        { name: "key", secret: { secretName: "key" } },
        { name: "disk", emptyDir: {} },
      ],
      4_321,
    );
    const mounted = await machine.restart().setUp(pod, never);
    const path = (name: string) => mounted.get(name)?.hostPath ?? "";
    expect(machine.mounts().sort()).toEqual([path("key"), path("shm")].sort());
    for (const name of ["shm", "disk"]) {
      const { mode, gid } = statSync(path(name));
      expect([name, (mode & 0o7777).toString(8), gid]).toEqual([name, "2777", 4_321]);
    }
    expect((statSync(join(path("key"), "a")).mode & 0o7777).toString(8)).toBe("644");
    expect(statSync(join(path("key"), "a")).gid).toBe(4_321);
    writeFileSync(join(path("shm"), "file"), "kept");
    expect(() => writeFileSync(join(path("shm"), "big"), Buffer.alloc(2 ** 21))).toThrow("ENOSPC");

    expect(await machine.restart().setUp(pod, never)).toEqual(mounted);
    expect(machine.mounts()).toHaveLength(2);
    expect(readFileSync(join(path("shm"), "file"), "utf8")).toBe("kept");

    const last = machine.restart();
    expect(readdirSync(machine.podsDir)).toEqual(["u-1"]);
    await last.tearDown("u-1");
    expect([machine.mounts(), readdirSync(machine.podsDir)]).toEqual([[], []]);
  });

  test("works with a pods directory behind a link", async () => {
    mkdirSync(join(machine.folder, "elsewhere"));
    symlinkSync("elsewhere", machine.podsDir);
    const volumes = machine.restart();
    await volumes.setUp(podWith([{ name: "shm", emptyDir: { medium: "Memory" } }]), never);
    expect(machine.mounts()).toHaveLength(1);
    await volumes.tearDown("u-1");
    expect([machine.mounts(), readdirSync(machine.podsDir)]).toEqual([[], []]);
  });

  test("removal does not follow mounts and links that a pod has created", async () => {
    const { path: theirs, isWhole } = precious();
    const volumes = machine.restart();
    const pod = podWith([
      { name: "disk", emptyDir: {} },
      { name: "shm", emptyDir: { medium: "Memory" } },
    ]);
    const mounted = await volumes.setUp(pod, never);
    for (const { hostPath } of mounted.values()) {
      mkdirSync(join(hostPath, "a b/bind"), { recursive: true });
      symlinkSync(theirs, join(hostPath, "link"));
      run("mount", "--bind", theirs, join(hostPath, "a b/bind"));
      // Twice on one place.
      run("mount", "--bind", theirs, join(hostPath, "a b/bind"));
    }
    await volumes.tearDown("u-1");
    expect(isWhole()).toBe(true);
    expect([machine.mounts(), readdirSync(machine.podsDir)]).toEqual([[], []]);
  });

  test("a removal does not enter a mount inside of the tree", async () => {
    const { path: theirs, isWhole } = precious();
    const tree = join(machine.folder, "tree");
    mkdirSync(join(tree, "sub/bind"), { recursive: true });
    run("mount", "--bind", theirs, join(tree, "sub/bind"));
    await expect(removeTree(tree)).rejects.toThrow("something is still mounted below");
    expect(isWhole()).toBe(true);
  });

  test("a mount that is in use is detached", async () => {
    const volumes = machine.restart();
    const mounted = await volumes.setUp(podWith([{ name: "shm", emptyDir: { medium: "Memory" } }]), never);
    const user = spawn("sleep", ["60"], { cwd: mounted.get("shm")?.hostPath, stdio: "ignore" });
    try {
      await new Promise((resolve) => user.once("spawn", resolve));
      await volumes.tearDown("u-1");
      expect([machine.mounts(), readdirSync(machine.podsDir)]).toEqual([[], []]);
    } finally {
      user.kill("SIGKILL");
    }
  });

  test("a sub-path is a separate mount, is updated with its volume, and is unmounted with the pod", async () => {
    const put = (value: string) =>
      machine.api.put("configmaps", { metadata: { namespace: "shop", name: "web" }, data: { conf: value } });
    put("1");
    const volumes = machine.restart();
    const pod = podWith([
      { name: "config", configMap: { name: "web" } },
      { name: "disk", emptyDir: {} },
    ]);
    const mounted = await volumes.setUp(pod, never);
    const config = mounted.get("config") ?? { hostPath: "", readOnly: true };
    const disk = mounted.get("disk") ?? { hostPath: "", readOnly: false };

    const first = await volumes.resolveSubPath(config, "conf", "u-1");
    expect(readFileSync(first, "utf8")).toBe("1");
    expect(await machine.restart().resolveSubPath(config, "conf", "u-1")).toBe(first);
    expect(machine.mounts()).toEqual([first]);

    put("2");
    await volumes.refresh(pod, never);
    // A container keeps the old file: a sub-path is not updated.
    expect(readFileSync(first, "utf8")).toBe("1");
    expect(readFileSync(await volumes.resolveSubPath(config, "conf", "u-1"), "utf8")).toBe("2");
    expect(machine.mounts()).toHaveLength(1);

    const made = await volumes.resolveSubPath(disk, "logs/today", "u-1");
    writeFileSync(join(made, "line"), "");
    expect(existsSync(join(disk.hostPath, "logs/today/line"))).toBe(true);
    expect(statSync(made).mode & 0o7777).toBe(0o777);
    await volumes.tearDown("u-1");
    expect([machine.mounts(), readdirSync(machine.podsDir)]).toEqual([[], []]);
  });

  test("a sub-path that leaves the volume is rejected with a message that reveals nothing about the machine", async () => {
    const { path: theirs } = precious();
    const volumes = machine.restart();
    const mounted = await volumes.setUp(podWith([{ name: "disk", emptyDir: {} }]), never);
    const disk = mounted.get("disk") ?? { hostPath: "", readOnly: false };
    symlinkSync(theirs, join(disk.hostPath, "absolute"));
    symlinkSync("../../../../precious", join(disk.hostPath, "relative"));
    for (const [subPath, message] of [
      ["absolute", 'failed to prepare subPath "absolute": the path contains an absolute symbolic link'],
      ["relative/file", 'failed to prepare subPath "relative/file": the path leads outside the volume'],
      ["/etc", "error SubPath `/etc` must not be an absolute path"],
      ["a/../../b", "unable to provision SubPath `a/../../b`: must not contain '..'"],
    ] as const) {
      await expect(volumes.resolveSubPath(disk, subPath, "u-1")).rejects.toThrow(
        expect.objectContaining({ reason: "CreateContainerConfigError", message }),
      );
    }
    expect(machine.mounts()).toEqual([]);
  });

  test("creates nothing in a read-only volume of another owner", async () => {
    const { path: hostPath } = precious();
    const volumes = machine.restart();
    await expect(volumes.resolveSubPath({ hostPath, readOnly: true }, "new", "u-1")).rejects.toThrow(
      "the path does not exist, and the volume is read-only",
    );
    expect(
      readFileSync(await volumes.resolveSubPath({ hostPath, readOnly: true }, "file", "u-1"), "utf8"),
    ).toBe("kept");
    await volumes.tearDown("u-1");
    expect(readdirSync(hostPath)).toEqual(["file"]);
  });
});
