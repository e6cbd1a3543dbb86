import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NamespaceMode } from "../../src/cri/generated/cri.ts";
import { orderFromDaemon } from "../../src/runtime/control-server.ts";
import { joinParts, readLog } from "../../src/runtime/drivers/contract/contract-bench.ts";
import { describeWithDrivers } from "../support/cri/cri-drivers.ts";
import {
  type ContainerOptions,
  podConfig,
  runContainer,
  runSandbox,
  untilExited,
} from "../support/cri/cri-pod.ts";
import { writeBusyboxTree } from "../support/cri/cri-runtime.ts";

/** An image that is hostile, and what it shall come to. */
interface Attempt {
  /** Changes the image's file system; the victim is a directory of the host that must stay as it is. */
  readonly image: (root: string, victim: string) => void;
  readonly container?: (paths: { victim: string; volume: string }) => ContainerOptions;
  readonly hostPid?: true;
  /** Output of the script, or the reason why the container is rejected. */
  readonly script?: string;
  readonly prints?: readonly string[] | RegExp;
  readonly refused?: RegExp;
}

const link = (path: string, target?: string) => (root: string, victim: string) => {
  rmSync(join(root, path), { recursive: true, force: true });
  symlinkSync(target ?? victim, join(root, path));
};
const far = "../".repeat(20);
const mountAt = (containerPath: string, { volume }: { volume: string }) => ({
  mounts: [{ containerPath, hostPath: volume }],
});

const attempts: Record<string, Attempt> = {
  "/dev is an absolute link": {
    image: link("dev"),
    refused: /the image has a symbolic link at \/dev \(\/dev -> \/.*\).*make it a directory in the image/,
  },
  "/dev is a relative link": {
    image: (root, victim) => link("dev", `${far}${victim.slice(1)}`)(root, victim),
    refused: /the image has a symbolic link at \/dev/,
  },
  "/dev is a link inside the image": {
    image: link("dev", "srv"),
    refused: /the image has a symbolic link at \/dev \(\/dev -> srv\)/,
  },
  "/dev is a link, and a volume is mounted there": {
    image: link("dev"),
    container: (paths) => mountAt("/dev", paths),
    refused: /the image has a symbolic link at \/dev/,
  },
  "/dev is a file": {
    image: (root) => {
      rmSync(join(root, "dev"), { recursive: true });
      writeFileSync(join(root, "dev"), "");
    },
    refused: /cannot mount a directory at \/dev: the container has a file there/,
  },
  "/proc is a link": { image: link("proc"), refused: /the image has a symbolic link at \/proc/ },
  "/sys is a link": { image: link("sys"), refused: /the image has a symbolic link at \/sys/ },
  "/dev, /proc and /sys are missing": {
    image: (root) => {
      for (const name of ["dev", "proc", "sys"]) rmSync(join(root, name), { recursive: true });
    },
    script: "ls -d /dev/null /proc/self /sys/kernel",
    prints: ["/dev/null", "/proc/self", "/sys/kernel"],
  },
  "entries of /dev, /proc and /sys are links": {
    image: (root, victim) => {
      for (const path of ["dev/shm", "dev/fd", "dev/termination-log", "proc/self", "sys/fs"])
        link(path)(root, victim);
    },
    container: ({ volume }) => mountAt("/dev/termination-log", { volume: join(volume, "from-volume") }),
    script:
      "echo x > /dev/shm/file && echo y > /dev/termination-log && ls /dev/shm && cat /dev/termination-log",
    prints: ["file", "y"],
  },
  "links of the image are in the place of masked and read-only paths": {
    image: (root) => {
      for (const name of ["sys", "cpuinfo"]) link(`proc/${name}`, "/srv")(root, "");
    },
    container: () => ({
      linux: {
        securityContext: {
          namespaceOptions: { pid: NamespaceMode.CONTAINER },
          readonlyPaths: ["/proc/sys"],
          maskedPaths: ["/proc/cpuinfo"],
        },
      },
    }),
    script: "head -c 1 /proc/cpuinfo; cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness",
    prints: /^[^\n]*can't create \/proc\/sys\/vm\/swappiness: Read-only file system$/,
  },
  "/etc is an absolute link": { image: link("etc"), script: "cat /etc/hostname", prints: ["hostile"] },
  "/etc/hosts, /etc/hostname and /etc/resolv.conf are links": {
    image: (root, victim) => {
      link("etc/hosts", join(victim, "hosts"))(root, victim);
      link("etc/hostname", `${far}${victim.slice(1)}/deep/hostname`)(root, victim);
      link("etc/resolv.conf", "../run/systemd/resolve/stub-resolv.conf")(root, victim);
    },
    script: "cat /etc/hostname; grep -c localhost /etc/hosts > /dev/null && cat /run/systemd/resolve/*",
    prints: ["hostile", "nameserver 192.0.2.1"],
  },
  "/etc/hosts is a loop": {
    image: link("etc/hosts", "hosts"),
    refused: /path \/etc\/hosts cannot be used in the container: it goes through more than 40 symbolic links/,
  },
  "/etc is a file": {
    image: (root) => {
      rmSync(join(root, "etc"), { recursive: true });
      writeFileSync(join(root, "etc"), "");
    },
    refused: /path \/etc\/host\w+ cannot be used in the container: \/etc is not a directory/,
  },
  "/etc/hosts is a directory": {
    image: (root) => mkdirSync(join(root, "etc/hosts")),
    refused: /cannot mount a file at \/etc\/hosts: the container has a directory there/,
  },
  "/var/run is a link to /run": {
    image: (root) => {
      mkdirSync(join(root, "var"));
      link("var/run", "/run")(root, "");
    },
    container: (paths) => mountAt("/var/run/secrets/account", paths),
    script: "ls /run/secrets/account",
    prints: ["from-volume"],
  },
  "the mount point of a volume is a link": {
    image: link("data"),
    container: (paths) => mountAt("/data/a/b", paths),
    script: "ls /data/a/b",
    prints: ["from-volume"],
  },
  "the mount point of a volume is a link to /": {
    image: link("data", "/"),
    container: (paths) => mountAt("/data", paths),
    refused: /cannot mount anything at \/data: it is the container's root/,
  },
  "the mount point of a volume is a link to /dev": {
    image: link("data", "srv/../dev"),
    container: (paths) => mountAt("/data", paths),
    refused: /cannot mount anything at \/data: it leads to \/dev through \/data -> srv\/..\/dev/,
  },
  "the mount point of a volume is a magic link": {
    image: (root, victim) => link("data", `/proc/self/root${victim}`)(root, victim),
    container: (paths) => mountAt("/data", paths),
    refused: /\/proc\/self\/root: it is a link of the kernel/,
  },
  "a volume is mounted at /dev/fd": {
    image: () => {},
    container: (paths) => mountAt("/dev/fd/x", paths),
    refused: /\/proc\/self\/fd: it is a link of the kernel/,
  },
  "a volume holds a link where another is mounted": {
    image: () => {},
    container: ({ victim, volume }) => {
      const outer = `${volume}-outer`;
      mkdirSync(outer, { recursive: true });
      symlinkSync(victim, join(outer, "sub"));
      return {
        mounts: [
          { containerPath: "/data/sub/deep", hostPath: volume },
          { containerPath: "/data", hostPath: outer },
        ],
      };
    },
    script: "ls /data/sub/deep",
    prints: ["from-volume"],
  },
  "the working directory is a link": {
    image: link("work"),
    container: () => ({ workingDir: "/work/made/here" }),
    script: "echo x > file && ls",
    prints: ["file"],
  },
  "the working directory is a file": {
    image: (root) => writeFileSync(join(root, "work"), ""),
    container: () => ({ workingDir: "/work" }),
    refused: /the working directory \/work is not a directory/,
  },
  "the working directory is a magic link": {
    image: () => {},
    container: () => ({ workingDir: "/proc/self/fd/7" }),
    refused:
      /path \/proc\/self\/fd\/7 cannot be used in the container: \/proc\/self\/fd: it is a link of the kernel/,
  },
  "the working directory is a magic link to the host's root": {
    image: (root, victim) => link("work", `/proc/1/root${victim}/made`)(root, victim),
    container: () => ({
      workingDir: "/work",
      linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.NODE } } },
    }),
    hostPid: true,
    refused: /\/proc\/1\/root: it is a link of the kernel/,
  },
};

describeWithDrivers("an image whose files are links to the host", ({ client, runtime }) => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(runtime().directory, "links-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(Object.entries(attempts))("%s: the host stays as it is", async (_name, attempt) => {
    const here = mkdtempSync(join(folder, "attempt-"));
    const [root, victim, volume] = ["image", "victim", "volume"].map((name) => join(here, name)) as [
      string,
      string,
      string,
    ];
    await writeBusyboxTree(root);
    for (const path of [victim, volume]) mkdirSync(path);
    writeFileSync(join(volume, "from-volume"), "");
    attempt.image(root, victim);
    const before = snapshot(victim);
    const tag = `test.local/${here.split("-").at(-1)?.toLowerCase()}:1`;
    await orderFromDaemon(runtime().dataDir, { kind: "build", options: { directory: root, tag } });

    const sandboxConfig = podConfig({
      hostname: "hostile",
      dnsConfig: { servers: ["192.0.2.1"] },
      logDirectory: here,
      ...(attempt.hostPid
        ? { linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.NODE } } } }
        : {}),
    });
    const podSandboxId = await runSandbox(client(), sandboxConfig);
    const running = runContainer(client(), podSandboxId, {
      sandboxConfig,
      image: { image: tag },
      command: ["sh", "-c", `{ ${attempt.script ?? "true"}; } 2>&1`],
      logPath: "log",
      ...attempt.container?.({ victim, volume }),
    });
    try {
      if (attempt.refused) await expect(running).rejects.toThrow(attempt.refused);
      else {
        await untilExited(client(), await running);
        const lines = joinParts(readLog(join(here, "log")));
        if (attempt.prints instanceof RegExp) expect(lines.join("\n")).toMatch(attempt.prints);
        else expect(lines).toEqual(attempt.prints);
      }
      expect(snapshot(victim)).toEqual(before);
    } finally {
      await running.catch(() => {});
      await client().runtime.removePodSandbox({ podSandboxId });
    }
    expect(snapshot(victim)).toEqual(before);
  });
});

/** The directory with its times, and whatever is in it. */
function snapshot(directory: string): unknown {
  const { ino, mtimeMs, ctimeMs } = lstatSync(directory);
  return { ino, mtimeMs, ctimeMs, entries: readdirSync(directory, { recursive: true }) };
}
