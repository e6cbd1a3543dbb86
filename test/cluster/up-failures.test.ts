import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { startUp } from "../support/cluster/up-process.ts";
import { mountSmallDisk } from "../support/files/small-disk.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { kindling, kindlingProgram, runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const folder = temporaryFolder();

const isRoot = process.getuid?.() === 0;

/** Output and exit code of an `up` without containers, which exits in every test here. */
async function up(...args: string[]) {
  const run = await runKindling(["up", "--runtime", "simulated", "--log-level", "error", ...args]);
  const code = await run.exit;
  return { code, said: run.output.stderr };
}

/** A data directory that has been used. */
async function usedDataDir(name: string): Promise<string> {
  const dataDir = join(folder, name);
  const first = await startUp(["--data-dir", dataDir, "--runtime", "simulated"]);
  await first.kill("SIGTERM");
  return dataDir;
}

describe("one sentence and exit code 1 for", () => {
  test("a port in use is reported with the process that listens", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((listening) => server.once("listening", listening));
    const address = server.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    const { code, said } = await up("--data-dir", join(folder, "busy"), "--listen", `127.0.0.1:${port}`);
    await new Promise((closed) => server.close(closed));
    expect(code).toBe(1);
    expect(said).toMatch(
      new RegExp(
        `^kindling: port ${port} of 127\\.0\\.0\\.1 is in use by pid ${process.pid} \\(.*\\): stop it, or choose another port with --listen 127\\.0\\.0\\.1:PORT\n$`,
      ),
    );
  });

  test("an address of another machine", async () => {
    const { code, said } = await up("--data-dir", join(folder, "far"), "--listen", "192.0.2.1:6443");
    expect({ code, said }).toEqual({
      code: 1,
      said: "kindling: 192.0.2.1 is not an address of this machine: choose one with --listen, such as 127.0.0.1:6443\n",
    });
  });

  test("a runtime that does not answer", async () => {
    const run = await runKindling([
      ..."up --log-level error --listen 127.0.0.1:0 --dashboard off --runtime unix:///nowhere/cri.sock".split(
        " ",
      ),
      "--data-dir",
      join(folder, "no-runtime"),
    ]);
    expect(await run.exit).toBe(1);
    expect(run.output.stderr).toMatch(
      /^kindling: no runtime answers at unix:\/\/\/nowhere\/cri\.sock: start it, or choose another with --runtime \(.*\)\n$/,
    );
  });

  test("a data directory that is a file, or below one", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    for (const dataDir of [file, join(file, "below")]) {
      const { code, said } = await up("--data-dir", dataDir);
      expect(code).toBe(1);
      expect(said).toMatch(
        /^kindling: cannot use the data directory \S+: .*is a file; choose another with --data-dir\n$/,
      );
    }
  });

  test("data of a newer version, which is not changed", async () => {
    const dataDir = join(folder, "newer");
    await mkdir(dataDir);
    await writeFile(join(dataDir, "version.json"), '{"format":99,"writtenBy":"v9.9.9"}');
    const { code, said } = await up("--data-dir", dataDir);
    expect({ code, said }).toEqual({
      code: 1,
      said: `kindling: ${dataDir} cannot be used: its data are of a newer Kindling (v9.9.9); run that version, or choose another --data-dir\n`,
    });
    const status = await kindling("status", "--data-dir", dataDir);
    expect(status.code).toBe(1);
    expect(status.stdout).toContain(
      "This version of Kindling cannot use it: its data are of a newer Kindling (v9.9.9)",
    );
    expect(status.stdout).not.toContain("kindling up");
  });

  test("an invalid CA", async () => {
    const dataDir = await usedDataDir("broken-ca");
    await writeFile(join(dataDir, "pki/ca.crt"), "not a certificate");
    const { code, said } = await up("--data-dir", dataDir, "--listen", "127.0.0.1:0");
    expect({ code, said }).toEqual({
      code: 1,
      said: `kindling: ${dataDir}/pki/ca.crt: is not a certificate in PEM; restore it from a backup or move it away\n`,
    });
  });

  test("an invalid kubeconfig to merge into, which is not changed", async () => {
    const into = join(folder, "broken-config");
    await writeFile(into, "clusters: {");
    const temporary = join(folder, "tmp");
    await mkdir(temporary);
    const run = await runKindling(
      [
        ..."up --ephemeral --runtime simulated --log-level error --listen 127.0.0.1:0".split(" "),
        "--merge-kubeconfig",
        into,
      ],
      { env: { TMPDIR: temporary } },
    );
    expect(await run.exit).toBe(1);
    expect(await readdir(temporary)).toEqual([]);
    expect(run.output.stderr).toMatch(
      new RegExp(`^kindling: the kubeconfig ${into} was not changed: it is not valid YAML`),
    );
    expect(await readFile(into, "utf8")).toBe("clusters: {");
  });
});

test("broken certificates other than the CA's are recreated", async () => {
  const dataDir = await usedDataDir("broken-leaf");
  await writeFile(join(dataDir, "pki/apiserver.crt"), "not a certificate");
  await writeFile(join(dataDir, "pki/admin.key"), "not a key");
  const again = await startUp(["--data-dir", dataDir, "--runtime", "simulated"]);
  expect(await again.kill("SIGTERM")).toBe(0);
});

describe.skipIf(!isRoot)("as another user [needs root to become one]", () => {
  test("containers need root, a directory of root's cannot be used", async () => {
    const run = async (...args: string[]) => {
      const child = await runKindling(["up", "--log-level", "error", ...args], { uid: 65_534 });
      return { code: await child.exit, said: child.output.stderr };
    };
    expect(await run("--data-dir", join(folder, "nobody"))).toEqual({
      code: 2,
      said: "kindling: containers need root: use sudo, or --runtime simulated for a cluster without containers\n",
    });
    const dataDir = join(folder, "roots");
    await mkdir(dataDir, { mode: 0o700 });
    expect(await run("--runtime", "simulated", "--data-dir", join(dataDir, "below"))).toEqual({
      code: 1,
      said: `kindling: cannot use the data directory ${dataDir}/below: this user may not write there; choose another with --data-dir\n`,
    });
    for (const command of ["status", "down", "reset"]) {
      const { exit, output } = await runKindling([command, "--data-dir", join(dataDir, "below")], {
        uid: 65_534,
      });
      expect(await exit).toBe(1);
      expect(output.stderr).toBe(
        `kindling: ${dataDir}/below belongs to another user: run the command as that user, with sudo if that is root\n`,
      );
    }
  });
});

describe.skipIf(!isRoot)("as root without capabilities, as in an unprivileged container [needs root]", () => {
  const drop = ["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"];
  async function kindling(...args: string[]) {
    const command = [process.execPath, await kindlingProgram(), ...args];
    return promisify(execFile)("setpriv", [...drop, ...command]).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );
  }

  test("up and a tour with containers report the missing program", async () => {
    const missing = {
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^kindling: containers need CAP_SYS_ADMIN, which root does not have here: /,
      ),
    };
    expect(await kindling("up", "--data-dir", join(folder, "weak"))).toEqual(missing);
    expect(await kindling("tour", "--runtime", "host")).toEqual(missing);
  });

  test("the tour runs without containers", async () => {
    const { code, stdout } = await kindling("tour", "--step", "3");
    expect(stdout).toContain("Containers are simulated");
    expect(code).toBe(0);
  });
});

const disk = mountSmallDisk(12);
afterAll(() => disk?.remove());

describe.skipIf(!disk)("a full disk [needs the right to mount a tmpfs]", () => {
  const dataDir = join(disk?.path ?? "", "data");

  test("is reported before anything is started", async () => {
    disk?.resize(4);
    const full = {
      code: 1,
      said: expect.stringMatching(/^kindling: the disk of \S+ is full: free some space/),
    };
    expect(await up("--data-dir", dataDir)).toEqual(full);
  });

  test("fails a tour that cannot store its image", async () => {
    disk?.resize(40);
    const run = await runKindling(["tour", "--runtime", "host"], { env: { TMPDIR: disk?.path } });
    expect(await run.exit).toBe(1);
    expect(run.output.stderr).toMatch(/^kindling: the disk of \S+ is full: free some space and start again/);
    expect(await readdir(disk?.path ?? "")).not.toContainEqual(expect.stringMatching(/^kindling-tour-/));
  });

  describeWithTool("kubectl", "later", () => {
    test("makes a running cluster reject writes, which it accepts again later", async () => {
      disk?.resize(12);
      const running = await startUp(["--data-dir", dataDir, "--runtime", "simulated"]);
      const nodes = () => running.kubectl.ok("get nodes --no-headers");
      await expect.poll(nodes).toMatch(/^node-1 +Ready/);
      await writeFile(join(disk?.path ?? "", "filler"), Buffer.alloc(16_000_000)).catch(() => {});
      const map = (name: string, size: number) =>
        JSON.stringify(makeConfigMap(name, { data: { x: "x".repeat(size) } }));
      // What is free inside the store's own file is used up first.
      await expect
        .poll(async () => {
          const name = `m${Math.random().toString(36).slice(2)}`;
          return (await running.kubectl.run("create -f -", { input: map(name, 500_000) })).stderr;
        })
        .toMatch(/no space left/i);
      expect(await nodes()).toMatch(/^node-1 +Ready/);
      disk?.resize(64);
      await running.kubectl.ok("create -f -", { input: map("after", 500_000) });
      expect(await running.kill("SIGTERM")).toBe(0);
    });
  });
});
