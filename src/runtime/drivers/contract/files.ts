import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ContractBench, readLog, until } from "./contract-bench.ts";

export function describeFiles(bench: () => ContractBench): void {
  describe("files", () => {
    it("mounts read-write and read-only, files too", async () => {
      const dir = bench().directory("shared");
      writeFileSync(join(dir, "file"), "hello");
      const mount = { readonly: false, propagation: "private", recursiveReadonly: false } as const;
      const { log } = await bench().run({
        args: [
          "sh",
          "-c",
          "cat /rw/file; echo; echo x > /rw/new && echo ok; (echo x > /ro/new) 2>&1; cat /one",
        ],
        mounts: [
          { ...mount, source: dir, destination: "/rw" },
          { ...mount, source: dir, destination: "/ro", readonly: true },
          { ...mount, source: join(dir, "file"), destination: "/one", readonly: true },
        ],
      });
      expect(log.slice(0, 2)).toEqual(["hello", "ok"]);
      expect(log[2]).toMatch(/Read-only/i);
      expect(log[3]).toBe("hello");
      expect(readFileSync(join(dir, "new"), "utf8")).toBe("x\n");
    });

    it("makes nested mounts read-only when requested", async () => {
      const dir = bench().tmpfs("outer");
      mkdirSync(join(dir, "inner"));
      bench().mount(["-t", "tmpfs", "tmpfs", join(dir, "inner")], join(dir, "inner"));
      const mount = { source: dir, readonly: true, propagation: "private" } as const;
      const { log } = await bench().run({
        args: ["sh", "-c", "for d in a b; do (echo x > /$d/inner/f && echo wrote) 2>&1; done"],
        mounts: [
          { ...mount, destination: "/a", recursiveReadonly: true },
          { ...mount, destination: "/b", recursiveReadonly: false },
        ],
      });
      expect(log[0]).toMatch(/Read-only/i);
      expect(log[1]).toBe("wrote");
    });

    it("shows later mounts of the host only in hostToContainer volumes", async () => {
      const dir = bench().tmpfs("propagated", "shared");
      mkdirSync(join(dir, "late"));
      const mount = { source: dir, readonly: false, recursiveReadonly: false } as const;
      const spec = await bench().started({
        args: ["sh", "-c", "until [ -e /slave/late/flag ]; do sleep 0.05; done; ls /private/late; echo seen"],
        mounts: [
          { ...mount, destination: "/slave", propagation: "hostToContainer" },
          { ...mount, destination: "/private", propagation: "private" },
        ],
      });
      bench().mount(["-t", "tmpfs", "tmpfs", join(dir, "late")], join(dir, "late"));
      writeFileSync(join(dir, "late/flag"), "");
      await bench().wait(spec.id);
      expect(readLog(spec.logPath).map(({ text }) => text)).toEqual(["seen"]);
    });

    it("propagates mounts to the host through bidirectional volumes", async () => {
      const dir = bench().tmpfs("both-ways", "shared");
      mkdirSync(join(dir, "made-inside"));
      const spec = bench().spec({
        args: [
          "sh",
          "-c",
          "mount -t tmpfs tmpfs /both/made-inside && touch /both/made-inside/flag && sleep 100",
        ],
        security: { ...bench().spec({}).security, privileged: true },
        mounts: [
          {
            source: dir,
            destination: "/both",
            readonly: false,
            recursiveReadonly: false,
            propagation: "bidirectional",
          },
        ],
      });
      bench().unmountLater(join(dir, "made-inside"));
      await bench().driver.create(spec);
      await bench().driver.start(spec.id);
      await until(() => existsSync(join(dir, "made-inside/flag")));
    });

    it("has a read-only root when requested", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", "(echo x > /file) 2>&1; echo x > /dev/shm/f && echo shm"],
        readonlyRootfs: true,
      });
      expect(log[0]).toMatch(/Read-only/i);
      expect(log[1]).toBe("shm");
    });

    it("never mounts outside of the root, whatever links the image contains", async () => {
      const victim = bench().directory("victim");
      const source = bench().directory("source");
      writeFileSync(join(source, "from-volume"), "");
      const rootfs = bench().copyRootfs();
      symlinkSync(victim, join(rootfs, "absolute"));
      symlinkSync(`../../../../../../../..${victim}`, join(rootfs, "relative"));
      const mount = { source, readonly: false, recursiveReadonly: false, propagation: "private" } as const;
      const { log } = await bench().run({
        rootfs,
        args: ["sh", "-c", "ls /absolute/a; ls /relative/b"],
        mounts: [
          { ...mount, destination: "/absolute/a" },
          { ...mount, destination: "/relative/b" },
        ],
      });
      expect(log).toEqual(["from-volume", "from-volume"]);
      expect(readdirSync(victim)).toEqual([]);
    });

    it("masks paths and makes others read-only", async () => {
      const { log } = await bench().run({
        args: [
          "sh",
          "-c",
          "wc -c < /proc/cpuinfo; ls /proc/irq | wc -l; (echo 1 > /proc/sys/vm/swappiness) 2>&1",
        ],
        security: {
          ...bench().spec({}).security,
          maskedPaths: ["/proc/cpuinfo", "/proc/irq", "/proc/not-there"],
          readonlyPaths: ["/proc/sys"],
        },
      });
      expect(log.slice(0, 2)).toEqual(["0", "0"]);
      expect(log[2]).toMatch(/Read-only/i);
    });

    it("cannot write to /sys/fs/cgroup", async () => {
      // With cgroup v1 each controller is a separate mount.
      const script = `for d in /sys/fs/cgroup /sys/fs/cgroup/*/; do
        if mkdir $d/kindling-test 2>/dev/null; then echo writable: $d; fi; done; echo done`;
      expect((await bench().run({ args: ["sh", "-c", script] })).log).toEqual(["done"]);
    });

    it("has the default devices and the requested ones", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", "echo x > /dev/null && head -c 3 /dev/zero | wc -c; ls /dev/given"],
        devices: [{ hostPath: "/dev/zero", containerPath: "/dev/given", permissions: "rw" }],
      });
      expect(log).toEqual(["3", "/dev/given"]);
    });
  });
}
