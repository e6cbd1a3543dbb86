import { readFile, writeFile } from "node:fs/promises";
import { parse, parseAllDocuments, stringify } from "yaml";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import type { Client } from "../../../src/client/api/client.ts";

interface ExampleAccess {
  /** Client of an administrator. */
  readonly admin: Client;
  /** Kubeconfig of the same cluster. */
  readonly kubeconfig: string;
  /** Manifest with a ServiceAccount in kube-system, roles and bindings. */
  readonly manifest: string;
  /** File to write. */
  readonly path: string;
}

/** Applies an example of rights, and writes the kubeconfig of its service account. */
export async function writeExampleKubeconfig(options: ExampleAccess): Promise<string> {
  const { admin, path } = options;
  let account = "";
  for (const document of parseAllDocuments(await readFile(options.manifest, "utf8"))) {
    const object: KubeObject = document.toJS();
    if (object.kind === "ServiceAccount") account = object.metadata.name ?? "";
    await createObject(admin, object);
  }
  const { status } = await admin.request<{ status: { token: string } }>(
    "POST",
    `/api/v1/namespaces/kube-system/serviceaccounts/${account}/token`,
    { body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} } },
  );
  const config = parse(await readFile(options.kubeconfig, "utf8"));
  config.users[0].user = { token: status.token };
  await writeFile(path, stringify(config), { mode: 0o600 });
  return path;
}

async function createObject(admin: Client, object: KubeObject): Promise<void> {
  const { kind = "", apiVersion = "v1", metadata } = object;
  const root = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
  const scope = metadata.namespace ? `/namespaces/${metadata.namespace}` : "";
  await admin.request("POST", `${root}${scope}/${kind.toLowerCase()}s`, { body: object });
}
