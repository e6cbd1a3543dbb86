import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { type DNSConfig, NamespaceMode, type PodSandboxConfig } from "../../cri/generated/cri.ts";
import { runProgram } from "../../lib/process/run-program.ts";

/** Host paths of the files that all containers of a sandbox see. */
export interface SandboxFiles {
  readonly hosts: string;
  readonly hostname: string;
  readonly resolvConf: string;
  /** `/dev/shm`, shared by the containers or the host's. */
  readonly shm: string;
}

const shmOptions = "nosuid,nodev,noexec,mode=1777,size=65536k";

export function sandboxFiles(directory: string, config: PodSandboxConfig): SandboxFiles {
  return {
    hosts: join(directory, "hosts"),
    hostname: join(directory, "hostname"),
    resolvConf: join(directory, "resolv.conf"),
    shm: isHostNamespace(config, "ipc") ? "/dev/shm" : join(directory, "shm"),
  };
}

export async function writeSandboxFiles(directory: string, config: PodSandboxConfig): Promise<void> {
  const files = sandboxFiles(directory, config);
  await mkdir(directory, { recursive: true, mode: 0o755 });
  await Promise.all([
    readFile("/etc/hosts", "utf8").then((hosts) => writeFile(files.hosts, hosts)),
    writeFile(files.hostname, `${sandboxHostname(config)}\n`),
    resolvConf(config.dnsConfig).then((text) => writeFile(files.resolvConf, text)),
    mountShm(directory, files.shm),
  ]);
}

export async function removeSandboxFiles(directory: string): Promise<void> {
  await unmount(join(directory, "shm"));
  await rm(directory, { recursive: true, force: true });
}

/** Host name of the pod, or of the node if the pod uses the host's network. */
export function sandboxHostname(config: PodSandboxConfig): string {
  return config.hostname || hostname();
}

/** Formats the resolv.conf of a pod's DNS configuration. Exported for its test. */
export function formatResolvConf({ servers, searches, options }: DNSConfig): string {
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(" ")}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(" ")}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

async function resolvConf(dns: DNSConfig | undefined): Promise<string> {
  return dns ? formatResolvConf(dns) : readFile("/etc/resolv.conf", "utf8").catch(() => "");
}

async function mountShm(directory: string, shm: string): Promise<void> {
  if (shm !== join(directory, "shm")) return;
  await mkdir(shm, { recursive: true });
  await runProgram("mount", ["-t", "tmpfs", "-o", shmOptions, "shm", shm]);
}

async function unmount(path: string): Promise<void> {
  // Ignored: the path is not mounted or does not exist.
  await runProgram("umount", ["-l", path]).catch(() => {});
}

/** Whether a pod uses the node's namespace of a kind. */
export function isHostNamespace(config: PodSandboxConfig, kind: "network" | "ipc" | "pid"): boolean {
  return config.linux?.securityContext?.namespaceOptions?.[kind] === NamespaceMode.NODE;
}

/**
 * Whether the containers of a pod share a PID namespace, which requires a process that holds it. It is CRI's default;
 * kubelets send CONTAINER unless the pod requests sharing.
 */
export function sharesProcesses(config: PodSandboxConfig): boolean {
  const mode = config.linux?.securityContext?.namespaceOptions?.pid;
  return (mode ?? NamespaceMode.POD) === NamespaceMode.POD;
}
