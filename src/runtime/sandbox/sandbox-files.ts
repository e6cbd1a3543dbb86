import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { DNSConfig, PodSandboxConfig } from "../../cri/generated/cri.ts";
import { runProgram } from "../process/run-program.ts";
import { isHostNamespace } from "./namespace-modes.ts";

/** Files that all containers of a sandbox see: where they are on the host. */
export interface SandboxFiles {
  readonly hosts: string;
  readonly hostname: string;
  readonly resolvConf: string;
  /** `/dev/shm`: shared by the containers, or the host's. */
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

/** The pod's own name; the node's where the pod shares its network. */
export function sandboxHostname(config: PodSandboxConfig): string {
  return config.hostname || hostname();
}

/** Exported for its test: the file that a pod's DNS config asks for. */
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
  // Not mounted, or not there: that is what is wanted.
  await runProgram("umount", ["-l", path]).catch(() => {});
}
