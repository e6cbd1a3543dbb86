import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The machine's containerd with a configuration and directories of its own. */
export interface Containerd {
  /** Pulls and unpacks; answers with milliseconds. What was there before is removed first. */
  pull(reference: string): Promise<number>;
  stop(): Promise<void>;
}

export async function startContainerd(directory: string): Promise<Containerd> {
  await mkdir(directory, { recursive: true });
  const address = join(directory, "c.sock");
  const config = join(directory, "config.toml");
  await writeFile(
    config,
    [
      "version = 2",
      `root = "${directory}/root"`,
      `state = "${directory}/state"`,
      'disabled_plugins = ["io.containerd.grpc.v1.cri"]',
      "[grpc]",
      `address = "${address}"`,
    ].join("\n"),
  );
  const child = spawn("containerd", ["--config", config], { stdio: "ignore" });
  for (let i = 0; i < 200 && !existsSync(address); i++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const ctr = (...args: string[]) => run("ctr", ["--address", address, "--namespace", "bench", ...args]);
  for (let i = 0; i < 100; i++) {
    const answers = await ctr("version").then(
      () => true,
      () => false,
    );
    if (answers) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    async pull(reference) {
      await ctr("images", "remove", "--sync", reference).catch(() => {});
      await ctr("content", "prune", "references").catch(() => {});
      const startedAt = performance.now();
      await ctr("images", "pull", "--plain-http", reference);
      return performance.now() - startedAt;
    },
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    },
  };
}
