import { expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

function deployment(name: string, spec: object = {}) {
  const labels = { app: name };
  const containers = [{ name: "main", image: "nginx:1", ports: [{ containerPort: 80 }] }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
      ...spec,
    },
  };
}

function configMap(name: string, data: Record<string, string>) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: unknown;
}

describeKubectl("kubectl apply --server-side", (cluster) => {
  const run = (manifest: object, flags = "") =>
    cluster.run(`apply --server-side -f - ${flags}`.trim(), { input: JSON.stringify(manifest) });
  const managersOf = async (resource: string): Promise<Entry[]> =>
    JSON.parse(await cluster.ok(`get ${resource} -o json --show-managed-fields`)).metadata.managedFields;
  const dataOf = (name: string) => cluster.ok(`get configmap ${name} -o jsonpath={.data}`);

  test("creates an object and records the applier as the owner of its fields", async () => {
    expect(await run(configMap("owned", { a: "1" }))).toMatchObject({
      code: 0,
      stdout: "configmap/owned serverside-applied\n",
    });
    expect(await managersOf("configmap/owned")).toMatchObject([
      { manager: "kubectl", operation: "Apply", fieldsV1: { "f:data": { "f:a": {} } } },
    ]);
  });

  test("refuses to change a field of another manager, names it, and takes it with --force-conflicts", async () => {
    await run(configMap("contested", { a: "1" }), "--field-manager=alice");
    const { code, stderr } = await run(configMap("contested", { a: "2" }), "--field-manager=bob");
    expect(code).toBe(1);
    expect(stderr).toContain('Apply failed with 1 conflict: conflict with "alice": .data.a');
    expect(await dataOf("contested")).toBe('{"a":"1"}');
    expect(
      await run(configMap("contested", { a: "2" }), "--field-manager=bob --force-conflicts"),
    ).toMatchObject({
      code: 0,
    });
    expect(await dataOf("contested")).toBe('{"a":"2"}');
    expect(await managersOf("configmap/contested")).toMatchObject([{ manager: "bob" }]);
  });

  test("removes a field that its only owner no longer applies, and keeps a shared one", async () => {
    await run(configMap("shared", { both: "1", mine: "1" }), "--field-manager=alice");
    await run(configMap("shared", { both: "1" }), "--field-manager=bob");
    await run(configMap("shared", {}), "--field-manager=alice");
    expect(await dataOf("shared")).toBe('{"both":"1"}');
  });

  test("merges a list by its keys, with the default of a key that is left out", async () => {
    await run(deployment("merged"), "--field-manager=alice");
    const env = [{ name: "main", env: [{ name: "A", value: "1" }] }];
    const partial = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "merged" },
      spec: { template: { spec: { containers: env } } },
    };
    expect(await run(partial, "--field-manager=bob")).toMatchObject({ code: 0 });
    const { spec } = JSON.parse(await cluster.ok("get deployment merged -o json"));
    expect(spec.template.spec.containers).toMatchObject([
      { name: "main", image: "nginx:1", ports: [{ containerPort: 80, protocol: "TCP" }], env: env[0]?.env },
    ]);
  });

  test("an object of client-side apply is taken over without conflicts, and its annotation stays current", async () => {
    await cluster.apply(configMap("migrated", { a: "1", b: "1" }));
    expect(await run(configMap("migrated", { a: "2" }))).toMatchObject({ code: 0 });
    expect(await dataOf("migrated")).toBe('{"a":"2"}');
    const { metadata } = JSON.parse(await cluster.ok("get configmap migrated -o json"));
    expect(JSON.parse(metadata.annotations[lastApplied]).data).toEqual({ a: "2" });
  });

  test("--dry-run=server shows the result and stores nothing", async () => {
    const { stdout } = await run(configMap("dry", { a: "1" }), "--dry-run=server -o json");
    expect(JSON.parse(stdout)).toMatchObject({ data: { a: "1" } });
    expect((await cluster.run("get configmap dry")).stderr).toContain("not found");
  });

  test("diff --server-side shows what an apply would change", async () => {
    await run(configMap("differs", { a: "1" }));
    const manifest = JSON.stringify(configMap("differs", { a: "2" }));
    const { code, stdout } = await cluster.run("diff --server-side -f -", { input: manifest });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^-\s+a: "1"\n\+\s+a: "2"$/m);
  });

  test("kubectl scale takes the replicas from the applier, whose next apply conflicts", async () => {
    await run(deployment("scaled", { replicas: 1 }), "--field-manager=alice");
    await cluster.ok("scale deployment scaled --replicas=3");
    expect(await managersOf("deployment/scaled")).toContainEqual(
      expect.objectContaining({ subresource: "scale", fieldsV1: { "f:spec": { "f:replicas": {} } } }),
    );
    const { stderr } = await run(deployment("scaled", { replicas: 1 }), "--field-manager=alice");
    expect(stderr).toContain('with subresource "scale" using apps/v1: .spec.replicas');
  });

  test("a field that the schema does not have is an error that names it", async () => {
    const { code, stderr } = await run({ ...configMap("unknown", {}), speck: 1 }, "--validate=ignore");
    expect(code).toBe(1);
    expect(stderr).toContain(".speck: field not declared in schema");
  });
});
