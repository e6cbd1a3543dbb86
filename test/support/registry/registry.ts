import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ownPort } from "../network/own-share.ts";
import { toolPath } from "../programs/tools.ts";

const run = promisify(execFile);

/** A docker-registry on a loopback port, with its own directory. */
export interface Registry {
  /** `127.0.0.1:PORT`. */
  readonly host: string;
  /** Pushes a docker-archive, OCI layout… as skopeo names it: `oci:/dir:tag`, `docker-archive:/file`. */
  push(source: string, name: string, options?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export async function startRegistry(): Promise<Registry> {
  const directory = await mkdtemp(join(tmpdir(), "kindling-registry-"));
  const host = `127.0.0.1:${await ownPort()}`;
  const config = join(directory, "config.yml");
  await writeFile(
    config,
    JSON.stringify({
      version: 0.1,
      log: { level: "error" },
      storage: { filesystem: { rootdirectory: join(directory, "data") } },
      http: { addr: host },
    }),
  );
  const child = spawn(toolPath("docker-registry"), ["serve", config], { stdio: "ignore" });
  await untilAnswers(`http://${host}/v2/`, child);
  return {
    host,
    async push(source, name, options = []) {
      const target = `docker://${host}/${name}`;
      await run(toolPath("skopeo"), [
        "copy",
        "--insecure-policy",
        "--dest-tls-verify=false",
        ...options,
        source,
        target,
      ]);
    },
    async stop() {
      child.kill("SIGKILL");
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    if (child.exitCode !== null) throw new Error(`docker-registry ended with ${child.exitCode}`);
    const answers = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (answers) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  child.kill("SIGKILL");
  throw new Error("docker-registry does not answer");
}
