import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CriClient, connectCri } from "../../../src/cri/cri-client.ts";
import { createLogger, silentLogger } from "../../../src/lib/logger.ts";
import { orderFromDaemon } from "../../../src/runtime/control-server.ts";
import type { RuntimeConfig } from "../../../src/runtime/runtime-config.ts";
import { type RunningRuntime, startRuntime } from "../../../src/runtime/start-runtime.ts";
import { toolPath } from "../programs/tools.ts";
import { unpackProgram } from "../programs/unpack-program.ts";

/** Our runtime in this process, with a client on its socket and an image `test.local/busybox:1`. */
export interface CriRuntime {
  readonly client: CriClient;
  readonly directory: string;
  readonly dataDir: string;
  readonly endpoint: string;
  /** As after a crash of nothing but the daemon: containers go on. `whileDown` runs between the two daemons. */
  restart(whileDown?: () => void): Promise<void>;
  stop(): Promise<void>;
}

export const busyboxImage = "test.local/busybox:1";

export async function startCriRuntime({
  driver,
  runtimeConfig,
}: {
  driver: "oci" | "host";
  runtimeConfig?: RuntimeConfig;
}): Promise<CriRuntime> {
  const directory = await mkdtemp(join(tmpdir(), "kindling-cri-"));
  const dataDir = join(directory, "data");
  const endpoint = `unix://${join(directory, "cri.sock")}`;
  const program = await unpackProgram();
  const logger = process.env.KINDLING_TEST_LOG
    ? createLogger({ format: "text", level: "debug" })
    : silentLogger;
  const start = () =>
    startRuntime({
      dataDir,
      listen: endpoint,
      driver,
      logger,
      config: runtimeConfig,
      unpackProgram: program,
    });
  let runtime: RunningRuntime = await start();
  await buildBusybox({ dataDir, directory });
  const client = connectCri(endpoint);
  return {
    client,
    directory,
    dataDir,
    endpoint,
    async restart(whileDown) {
      await runtime.close();
      whileDown?.();
      runtime = await start();
    },
    async stop() {
      const { items } = await client.runtime.listPodSandbox({ filter: undefined });
      for (const { id } of items) await client.runtime.removePodSandbox({ podSandboxId: id });
      client.close();
      await runtime.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const applets = [
  "sh",
  "sleep",
  "echo",
  "cat",
  "ps",
  "id",
  "hostname",
  "ip",
  "env",
  "ls",
  "nc",
  "wget",
  "mount",
];
const moreApplets = [
  "true",
  "false",
  "touch",
  "mkdir",
  "head",
  "dd",
  "kill",
  "httpd",
  "grep",
  "stty",
  "trap",
  "sort",
];

/** A file system with busybox and a few users. */
export async function writeBusyboxTree(root: string): Promise<void> {
  for (const name of ["bin", "etc", "tmp", "proc", "sys", "dev", "srv"])
    await mkdir(join(root, name), { recursive: true });
  await copyFile(toolPath("busybox"), join(root, "bin/busybox"));
  for (const applet of [...applets, ...moreApplets]) await symlink("busybox", join(root, "bin", applet));
  await writeFile(join(root, "etc/passwd"), "root:x:0:0::/:/bin/sh\nweb:x:101:102::/srv:/bin/sh\n");
  await writeFile(join(root, "etc/group"), "root:x:0:\nweb:x:102:\nlogs:x:200:web\n");
  await writeFile(join(root, "srv/index.html"), "hello from a pod\n");
}

export async function buildBusybox({
  dataDir,
  directory,
}: {
  dataDir: string;
  directory: string;
}): Promise<void> {
  const tree = join(directory, "busybox");
  await writeBusyboxTree(tree);
  const options = { directory: tree, tag: busyboxImage, command: ["sh", "-c", "sleep 1000"] };
  await orderFromDaemon(dataDir, { kind: "build", options });
}
