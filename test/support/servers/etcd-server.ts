import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ownPort } from "../network/own-share.ts";
import { toolPath } from "../programs/tools.ts";

/** A real etcd server on its own loopback port. */
export interface EtcdServer {
  readonly url: string;
  /** For a server with TLS: what a client needs to be let in. */
  readonly tls: { ca: Buffer; cert: Buffer; key: Buffer } | undefined;
  /** SIGKILL, the nearest thing to a power failure; the data stays. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. */
  restart(): Promise<void>;
  /** It keeps its connections and answers nothing, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

export interface EtcdOptions {
  tls?: boolean;
  args?: readonly string[];
}

export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdServer> {
  const name = "default";
  const peerUrl = await freeUrl("http");
  return startMember({ ...options, name, peerUrl, cluster: `${name}=${peerUrl}` });
}

/** Several members of one cluster. */
export async function startEtcdCluster(size: number): Promise<EtcdServer[]> {
  const members: { name: string; peerUrl: string }[] = [];
  for (let i = 0; i < size; i++) members.push({ name: `m${i}`, peerUrl: await freeUrl("http") });
  const cluster = members.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(",");
  // Patient: a member that gets no turn for a while stays the leader.
  const args = ["--heartbeat-interval", "100", "--election-timeout", "1000"];
  return Promise.all(members.map((member) => startMember({ ...member, cluster, args })));
}

interface MemberOptions extends EtcdOptions {
  name: string;
  peerUrl: string;
  cluster: string;
}

async function startMember(options: MemberOptions): Promise<EtcdServer> {
  const { name, peerUrl, cluster, tls } = options;
  const folder = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "kindling-etcd-"));
  const url = await freeUrl(tls ? "https" : "http");
  const certificates = tls ? makeCertificates(folder) : undefined;
  const args = [
    ...["--name", name, "--data-dir", join(folder, "data"), "--initial-cluster", cluster],
    ...["--listen-client-urls", url, "--advertise-client-urls", url],
    ...["--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl],
    ...["--heartbeat-interval", "20", "--election-timeout", "200"],
    ...(certificates?.args ?? []),
    ...(options.args ?? []),
  ];
  let child = await startServing(args);

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  return {
    url,
    tls: certificates && {
      ca: await readFile(certificates.ca),
      cert: await readFile(certificates.clientCert),
      key: await readFile(certificates.clientKey),
    },
    kill,
    async restart() {
      child = await startServing(args);
    },
    async freeze() {
      child.kill("SIGSTOP");
      while (!(await isStopped(child.pid))) await delay(1);
    },
    thaw: () => void child.kill("SIGCONT"),
    async remove() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startServing(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(toolPath("etcd"), args, { stdio: ["ignore", "ignore", "pipe"] });
  // A test process that ends early leaves no server behind.
  const killWithUs = () => child.kill("SIGKILL");
  process.on("exit", killWithUs);
  child.once("exit", () => process.off("exit", killWithUs));

  let log = "";
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`etcd ended with ${code}:\n${log.slice(-2_000)}`)));
    child.stderr.on("data", (chunk) => {
      log += chunk;
      if (log.includes("ready to serve client requests")) resolve();
    });
  });
  return child;
}

/** Whether every thread has stopped: the signal takes its time to reach them all. */
async function isStopped(pid: number | undefined): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`);
  const stats = await Promise.all(threads.map((id) => readFile(`/proc/${pid}/task/${id}/stat`, "utf8")));
  return stats.every((stat) => stat.includes(") T "));
}

async function freeUrl(scheme: "http" | "https"): Promise<string> {
  return `${scheme}://127.0.0.1:${await ownPort()}`;
}

/** An authority, a server certificate for 127.0.0.1 and a client certificate, in `folder`. */
function makeCertificates(folder: string) {
  const file = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const newKey = (name: string) => [
    ...["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-keyout", file(`${name}.key`), "-out", file(`${name}.crt`), "-days", "2", "-subj", `/CN=${name}`],
  ];
  openssl("req", "-x509", ...newKey("ca"));
  for (const name of ["server", "client"]) {
    const signedByCa = ["-CA", file("ca.crt"), "-CAkey", file("ca.key")];
    const extensions = [
      "subjectAltName=IP:127.0.0.1",
      "extendedKeyUsage=serverAuth,clientAuth",
      "basicConstraints=CA:FALSE",
    ];
    openssl(
      "req",
      "-x509",
      ...newKey(name),
      ...signedByCa,
      ...extensions.flatMap((line) => ["-addext", line]),
    );
  }
  const serverArgs = ["--cert-file", file("server.crt"), "--key-file", file("server.key")];
  return {
    ca: file("ca.crt"),
    clientCert: file("client.crt"),
    clientKey: file("client.key"),
    args: [...serverArgs, "--client-cert-auth", "--trusted-ca-file", file("ca.crt")],
  };
}
