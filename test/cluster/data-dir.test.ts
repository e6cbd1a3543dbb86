import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject, Pod, Service } from "../../src/api/meta/objects.ts";
import type { Client, ResourceName } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

/** Objects that nothing writes while a cluster restarts: they keep their resource version too. */
const untouched = {
  Namespace: "namespaces",
  ConfigMap: "configmaps",
  Secret: "secrets",
  ServiceAccount: "serviceaccounts",
  Service: "services",
  PersistentVolume: "persistentvolumes",
  PersistentVolumeClaim: "persistentvolumeclaims",
  StorageClass: "storageclasses",
  Lease: "leases",
  ControllerRevision: "controllerrevisions",
  Role: "roles",
  RoleBinding: "rolebindings",
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
} as const satisfies Record<string, ResourceName>;

/** Objects whose status follows their containers, which the simulated runtime starts again. */
const withStatus = {
  Pod: "pods",
  ReplicaSet: "replicasets",
  Deployment: "deployments",
  StatefulSet: "statefulsets",
  PodDisruptionBudget: "poddisruptionbudgets",
} as const satisfies Record<string, ResourceName>;

type WithStatus = KubeObject & { readonly status?: unknown };

/** test/cluster/fixtures/README.md describes how it was created. */
const archive = fileURLToPath(new URL("fixtures/data-dir-0.1.tar.gz", import.meta.url));

describe("a data directory that release 0.1 wrote", () => {
  const dataDir = temporaryFolder();
  const caPath = join(dataDir, "pki/ca.crt");
  let writtenCa: string;
  let up: UpProcess;
  let client: Client;
  let expected: readonly KubeObject[];

  const readExpected = async (name: string) => JSON.parse(await readFile(join(dataDir, name), "utf8"));
  const expectedOf = (kind: string) => expected.filter((object) => object.kind === kind);
  const namesOf = (objects: readonly KubeObject[]) =>
    objects.map(({ metadata: { namespace = "", name } }) => `${namespace}/${name}`);

  beforeAll(async () => {
    await promisify(execFile)("tar", ["-xzf", archive, "-C", dataDir]);
    writtenCa = await readFile(caPath, "utf8");
    expected = await readExpected("objects.json");
    up = await startUp(["--data-dir", dataDir, "--runtime", "simulated", "--dashboard", "off"]);
    client = await connectCluster(up);
  });
  afterAll(async () => {
    client?.close();
    await up?.kill("SIGTERM");
  });

  async function current(resource: ResourceName, kind: string): Promise<KubeObject[]> {
    const { items } = await client.list(resource);
    const names = new Set(namesOf(expectedOf(kind)));
    return (items as readonly KubeObject[]).filter((object) => names.has(namesOf([object])[0] ?? ""));
  }

  test("the fixture has objects of every kind that is compared", () => {
    const kinds = new Set(expected.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual([...Object.keys(untouched), ...Object.keys(withStatus)].sort());
  });

  test.each(Object.entries(untouched))("%s objects are unchanged", async (kind, resource) => {
    const found = await current(resource, kind);
    expect(found).toEqual(expectedOf(kind));
  });

  test.each(Object.entries(withStatus))(
    "%s objects keep everything but their status",
    async (kind, resource) => {
      const found = await current(resource, kind);
      expect(found.map(withoutStatus)).toEqual(expectedOf(kind).map(withoutStatus));
    },
  );

  test("the CA and the key of service account tokens are unchanged", async () => {
    expect(await readFile(caPath, "utf8")).toBe(writtenCa);
    expect(await client.request("GET", "/openid/v1/jwks")).toEqual(await readExpected("jwks.json"));
  });

  test.each([
    ["system:serviceaccount:shop:web", { namespace: "shop", verb: "get", resource: "configmaps" }, true],
    ["system:serviceaccount:shop:web", { namespace: "shop", verb: "get", resource: "secrets" }, false],
    ["jane", { verb: "list", resource: "nodes" }, true],
    ["jane", { verb: "delete", resource: "nodes" }, false],
  ])("the rights of %s to %j are %s", async (user, resourceAttributes, allowed) => {
    const review = await client.request<{ status: { allowed: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        body: {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec: { user, resourceAttributes },
        },
      },
    );
    expect(review.status.allowed).toBe(allowed);
  });

  test("service addresses stay allocated", async () => {
    const [web] = (expectedOf("Service") as Service[]).filter(({ metadata }) => metadata.name === "web");
    const clusterIP = web?.spec?.clusterIP ?? "";
    expect(clusterIP).toMatch(/^10\.96\./);
    const service = (name: string, spec: Service["spec"]): Service => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "shop" },
      spec: { ports: [{ port: 80 }], ...spec },
    });
    await expect(client.create("services", service("taken", { clusterIP }))).rejects.toThrow(
      "provided IP is already allocated",
    );
    const created = await client.create("services", service("another", {}));
    const addresses = (expectedOf("Service") as Service[]).map(({ spec }) => spec?.clusterIP);
    expect(addresses).not.toContain(created.spec?.clusterIP);
  });

  test.each([
    ["deployments", "shop", "web"],
    ["statefulsets", "data", "db"],
  ] as const)("%s scale up and keep their pods", async (resource, namespace, name) => {
    const readyPods = async () => {
      const { items } = await client.list("pods", { namespace, labelSelector: `app=${name}` });
      return items.filter(isReady).map(({ metadata }) => metadata.uid);
    };
    const before = expectedOf("Pod").filter(({ metadata }) => metadata.namespace === namespace);
    await client.patch(
      resource,
      { namespace, name },
      { patch: { kind: "merge", body: { spec: { replicas: 3 } } } },
    );
    await expect.poll(readyPods).toHaveLength(3);
    expect(await readyPods()).toEqual(expect.arrayContaining(before.map(({ metadata }) => metadata.uid)));
  });
});

function withoutStatus({ status, metadata, ...rest }: WithStatus) {
  return { ...rest, metadata: { ...metadata, resourceVersion: undefined } };
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
