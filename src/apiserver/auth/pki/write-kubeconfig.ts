import { writeFileDurably } from "../../../lib/fs/write-file-atomic.ts";

export interface KubeconfigOptions {
  /** `https://127.0.0.1:6443` */
  readonly server: string;
  /** PEM, as `cert` and `key`. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** Name of the cluster, the user and the context. */
  readonly name: string;
}

/** Writes a kubeconfig. Only its owner may read it, because it contains a private key. */
export async function writeKubeconfig(path: string, options: KubeconfigOptions): Promise<void> {
  await writeFileDurably(path, formatKubeconfig(options), { mode: 0o600, existing: "replace" });
}

function formatKubeconfig({ server, ca, cert, key, name }: KubeconfigOptions): string {
  // Every JSON string is a valid YAML string.
  const quoted = JSON.stringify(name);
  const base64 = (pem: string) => Buffer.from(pem).toString("base64");
  return `apiVersion: v1
kind: Config
clusters:
- name: ${quoted}
  cluster:
    server: ${JSON.stringify(server)}
    certificate-authority-data: ${base64(ca)}
users:
- name: ${quoted}
  user:
    client-certificate-data: ${base64(cert)}
    client-key-data: ${base64(key)}
contexts:
- name: ${quoted}
  context:
    cluster: ${quoted}
    user: ${quoted}
current-context: ${quoted}
`;
}
