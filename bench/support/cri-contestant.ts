import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type CriClient, connectCri } from "../../src/cri/cri-client.ts";
import { pauseImage } from "./image-archive.ts";

/** A CRI runtime of its own, in its own directories, with the images imported. */
export interface CriContestant {
  readonly client: CriClient;
  /** In the command lines of its processes. */
  readonly folder: string;
  stop(): Promise<void>;
}

interface Archives {
  readonly sleeper: string;
  readonly pause: string;
}

export async function startKindling(
  folder: string,
  archives: Archives,
  options: { network?: string } = {},
): Promise<CriContestant> {
  mkdirSync(folder, { recursive: true });
  const program = resolve("dist/kindling.js");
  const dataDir = ["--data-dir", join(folder, "data")];
  execFileSync(process.execPath, [program, "runtime", ...dataDir, "import", archives.sleeper], {
    stdio: "ignore",
  });
  const endpoint = `unix://${join(folder, "cri.sock")}`;
  const network = options.network ? ["--network", options.network] : [];
  const child = spawn(
    process.execPath,
    [program, "runtime", ...dataDir, "--listen", endpoint, ...network, "--log-level", "warn"],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  return contestant(folder, endpoint, child);
}

export async function startContainerd(folder: string, archives: Archives): Promise<CriContestant> {
  mkdirSync(join(folder, "cni"), { recursive: true });
  writeFileSync(join(folder, "cni/10-bench.conflist"), JSON.stringify(cniConfig(folder)));
  const socket = join(folder, "containerd.sock");
  writeFileSync(join(folder, "config.toml"), containerdConfig(folder, socket));
  const child = spawn("containerd", ["--config", join(folder, "config.toml"), "--log-level", "error"], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  const result = await contestant(folder, `unix://${socket}`, child);
  for (const archive of [archives.sleeper, archives.pause])
    execFileSync("ctr", ["-a", socket, "-n", "k8s.io", "images", "import", archive], { stdio: "ignore" });
  return result;
}

/** The same plugins that our runtime uses. */
function cniConfig(folder: string) {
  return {
    cniVersion: "0.4.0",
    name: "bench",
    plugins: [
      {
        type: "bridge",
        bridge: "benchcri0",
        isGateway: true,
        ipMasq: true,
        ipam: {
          type: "host-local",
          dataDir: join(folder, "addresses"),
          ranges: [[{ subnet: "10.213.0.0/16" }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

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
[${cri}.cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${join(folder, "cni")}"
`;
}

async function contestant(folder: string, endpoint: string, child: ChildProcess): Promise<CriContestant> {
  const client = connectCri(endpoint);
  for (let attempt = 0; ; attempt++) {
    const answer = await client.runtime.version({ version: "" }, { timeoutMs: 2_000 }).catch(() => undefined);
    if (answer) break;
    if (attempt > 100 || child.exitCode !== null) throw new Error(`${folder}: the runtime does not answer`);
    await delay(100);
  }
  return {
    client,
    folder,
    async stop() {
      const { items } = await client.runtime.listPodSandbox({ filter: undefined });
      for (const { id } of items) {
        await client.runtime.stopPodSandbox({ podSandboxId: id });
        await client.runtime.removePodSandbox({ podSandboxId: id });
      }
      client.close();
      child.kill("SIGTERM");
      await new Promise((done) => child.once("exit", done));
    },
  };
}
