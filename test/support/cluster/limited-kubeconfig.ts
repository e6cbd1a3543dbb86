import { writeFile } from "node:fs/promises";
import { parse, stringify } from "yaml";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import type { TestCluster } from "../../../src/testing/test-cluster.ts";

/** Writes the kubeconfig of a service account that may only get and list pods and workloads of the namespace `default`. */
export async function limitedKubeconfig(cluster: TestCluster, path: string): Promise<string> {
  const client = await connectCluster({ kubeconfig: cluster.kubeconfig });
  const metadata = { name: "limited", namespace: "default" };
  await cluster.client.create("serviceaccounts", { metadata });
  await cluster.client.create("roles", {
    metadata,
    rules: [
      { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
      { apiGroups: ["apps"], resources: ["*"], verbs: ["get", "list"] },
    ],
  });
  await cluster.client.create("rolebindings", {
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "limited" },
    subjects: [{ kind: "ServiceAccount", ...metadata }],
  });
  const { status } = await client.request<{ status: { token: string } }>(
    "POST",
    "/api/v1/namespaces/default/serviceaccounts/limited/token",
    { body: {} },
  );
  client.close();
  const config = parse(cluster.kubeconfigText);
  config.users[0].user = { token: status.token };
  await writeFile(path, stringify(config), { mode: 0o600 });
  return path;
}
