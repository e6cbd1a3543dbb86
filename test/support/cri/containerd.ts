import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { type CriClient, connectCri } from "../../../src/cri/cri-client.ts";
import { ownRange } from "../network/own-share.ts";
import { pauseImage, writePauseArchive } from "../registry/image-archive.ts";

const run = promisify(execFile);

/** A containerd with its own configuration, directories, network and images. */
export interface Containerd {
  readonly client: CriClient;
  readonly endpoint: string;
  /** In the command lines of its processes. */
  readonly folder: string;
  /** Its own command line, on the images that CRI has. */
  ctr(...args: string[]): Promise<string>;
  /** With all that it runs. */
  stop(): Promise<void>;
}

export interface ContainerdOptions {
  /** Where containerd, its shim and ctr are. */
  readonly program: string;
  /** A short path, because it contains sockets. Removed by `stop`. */
  readonly folder: string;
  /** Docker-archives to import. */
  readonly archives?: readonly string[];
}

export async function startContainerd({
  program,
  folder,
  archives = [],
}: ContainerdOptions): Promise<Containerd> {
  const bridge = `kdlc${randomBytes(4).toString("hex")}`;
  const socket = join(folder, "c.sock");
  const env = { ...process.env, PATH: `${dirname(program)}:${process.env.PATH}` };
  await mkdir(join(folder, "cni"), { recursive: true });
  await writeFile(join(folder, "cni/10-own.conflist"), JSON.stringify(cniConfig(folder, bridge)));
  await writeFile(join(folder, "config.toml"), containerdConfig(folder, socket));
  const child = spawn(program, ["--config", join(folder, "config.toml"), "--log-level", "error"], {
    stdio: ["ignore", "ignore", process.env.KINDLING_TEST_LOG ? "inherit" : "ignore"],
    env,
  });
  const client = connectCri(`unix://${socket}`);
  const ctr = async (...args: string[]) =>
    (await run(join(dirname(program), "ctr"), ["-a", socket, "-n", "k8s.io", ...args])).stdout;

  async function stop(): Promise<void> {
    if (child.exitCode === null) await removePods(client).catch(() => {});
    client.close();
    await end(child);
    for (const pid of await findProcesses(socket)) kill(pid);
    for (const mount of await findMounts(folder)) await run("umount", ["-l", mount]).catch(() => {});
    await run("ip", ["link", "delete", bridge]).catch(() => {});
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  try {
    await untilAnswers(client, child);
    for (const archive of [writePauseArchive(folder), ...archives]) await ctr("images", "import", archive);
  } catch (error) {
    await stop();
    throw error;
  }
  return { client, endpoint: `unix://${socket}`, folder, ctr, stop };
}

function cniConfig(folder: string, bridge: string) {
  return {
    cniVersion: "0.4.0",
    name: bridge,
    plugins: [
      {
        type: "bridge",
        bridge,
        isGateway: true,
        ipMasq: true,
        ipam: {
          type: "host-local",
          dataDir: join(folder, "addresses"),
          ranges: [[{ subnet: `${ownRange()}.0/24` }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

/** Nothing outside its folder: not the machine's plugin sockets, network namespaces or /opt either. */
function containerdConfig(folder: string, socket: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "${join(folder, "root")}"
state = "${join(folder, "state")}"
[grpc]
  address = "${socket}"
[${cri}]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[${cri}.cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${join(folder, "cni")}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${join(folder, "opt")}"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
`;
}

/** Its network comes last: until then no sandbox can be made. */
async function untilAnswers({ runtime }: CriClient, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (child.exitCode !== null) throw new Error(`containerd ended with ${child.exitCode}`);
    const answer = await runtime.status({ verbose: false }, { timeoutMs: 2_000 }).catch(() => undefined);
    if (answer?.status?.conditions.every(({ status }) => status)) return;
    await delay(100);
  }
  throw new Error("containerd does not get ready");
}

async function removePods({ runtime }: CriClient): Promise<void> {
  const { items } = await runtime.listPodSandbox({ filter: undefined });
  for (const { id } of items) {
    await runtime.stopPodSandbox({ podSandboxId: id });
    await runtime.removePodSandbox({ podSandboxId: id });
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}

/** Shims whose containers could not be removed: each names the socket that it answers to. */
async function findProcesses(text: string): Promise<number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const named = await Promise.all(
    pids.map((pid) =>
      readFile(`/proc/${pid}/cmdline`, "utf8").then(
        (line) => line.includes(text),
        () => false,
      ),
    ),
  );
  return pids.filter((_, i) => named[i]);
}

async function findMounts(folder: string): Promise<string[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  return lines
    .flatMap((line) => line.split(" ")[4] ?? [])
    .filter((path) => path.startsWith(`${folder}/`))
    .toReversed();
}
