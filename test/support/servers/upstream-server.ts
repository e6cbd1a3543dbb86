import { spawn } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { once } from "node:events";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { issueClientCertificate, loadOrCreatePki } from "../../../src/apiserver/auth/pki/pki.ts";
import { writeKubeconfig } from "../../../src/apiserver/auth/pki/write-kubeconfig.ts";
import { findProgram } from "../../../src/runtime/drivers/find-program.ts";
import { createKubectl } from "../kubectl/kubectl.ts";
import { ownPort } from "../network/own-share.ts";
import { startEtcd } from "./etcd-server.ts";

/** Debian has no package of it; build it from kubernetes/kubernetes (`go build ./cmd/kube-apiserver`). */
export const upstreamProgram = findProgram("kube-apiserver");

export interface UpstreamServer {
  /** The CA of everybody's certificates, as a file. */
  readonly caFile: string;
  /** A kubeconfig for a user, by the name in its certificate. */
  accessOf(commonName: string, ...organizations: string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Upstream's API server on etcd, with certificates of ours. */
export async function startUpstreamServer(
  folder: string,
  flags: Readonly<Record<string, string>> = {},
): Promise<UpstreamServer> {
  const etcd = await startEtcd();
  const directory = join(folder, "pki");
  const file = (name: string) => join(directory, name);
  const pki = await loadOrCreatePki({ directory, now: Date.now() });
  const publicKey = createPublicKey(pki.serviceAccountKey).export({ type: "spki", format: "pem" });
  await writeFile(file("sa.pub"), publicKey);
  const port = await ownPort();
  const log = await open(join(folder, "kube-apiserver.log"), "w");
  const options = {
    "etcd-servers": etcd.url,
    "bind-address": "127.0.0.1",
    // Without it the server looks for a default route, which a network namespace of a test does not have.
    "advertise-address": "192.0.2.1",
    "secure-port": port,
    "tls-cert-file": file("apiserver.crt"),
    "tls-private-key-file": file("apiserver.key"),
    "client-ca-file": file("ca.crt"),
    "kubelet-client-certificate": file("apiserver-kubelet-client.crt"),
    "kubelet-client-key": file("apiserver-kubelet-client.key"),
    // The names of test nodes do not resolve.
    "kubelet-preferred-address-types": "InternalIP",
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": file("sa.pub"),
    "service-account-signing-key-file": file("sa.key"),
    "service-cluster-ip-range": "10.96.0.0/16",
    "authorization-mode": "Node,RBAC",
    "enable-admission-plugins": "NodeRestriction",
    ...flags,
  };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(upstreamProgram ?? "", args, { stdio: ["ignore", log.fd, log.fd] });
  const exited = once(child, "exit");
  let count = 0;

  const server: UpstreamServer = {
    caFile: file("ca.crt"),
    async accessOf(commonName, ...organizations) {
      const path = join(folder, `kubeconfig-${count++}`);
      const pair = issueClientCertificate(pki, { commonName, organizations, now: Date.now() });
      const { cert: ca } = pki.authority;
      await writeKubeconfig(path, { server: `https://127.0.0.1:${port}`, ca, ...pair, name: "upstream" });
      return path;
    },
    async stop() {
      // Without waiting for open connections.
      child.kill("SIGKILL");
      await exited;
      await log.close();
      await etcd.remove();
    },
  };
  const kubectl = createKubectl(await server.accessOf("admin", "system:masters"));
  const isReady = async () => expect((await kubectl.run("get --raw /readyz")).stdout).toBe("ok");
  await vi.waitFor(isReady, { timeout: 60_000, interval: 200 }).catch(async (error) => {
    await server.stop();
    throw error;
  });
  return server;
}
