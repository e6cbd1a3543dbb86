import { readFile } from "node:fs/promises";
import { CustomObjectsApi, KubeConfig } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { useKubectlCluster } from "../../support/cluster/kubectl-cluster.ts";
import { describeWithTool } from "../../support/programs/tools.ts";
import { cronTab, cronTabDefinition } from "./crontab.fixture.ts";

describeWithTool("kubectl", "custom resources with kubectl and the official client", () => {
  const cluster = useKubectlCluster({ nodes: [], scheduler: false });
  const kubectl = () => cluster.kubectl;
  const apply = (object: object, command = "apply -f -") =>
    kubectl().ok(command, { input: JSON.stringify(object) });

  test("apply, wait, explain, get, scale, patch and delete", async () => {
    await apply(cronTabDefinition());
    await kubectl().ok("wait --for=condition=Established crd/crontabs.stable.example.com --timeout=60s");
    expect(await kubectl().ok("explain crontab.spec.cronSpec")).toContain("When the job runs.");
    expect(await kubectl().ok("api-resources --api-group=stable.example.com")).toMatch(
      /crontabs +ct +stable/,
    );
    expect(await apply(cronTab("a"))).toContain("crontab.stable.example.com/a created");
    expect(await apply(cronTab("a", { cronSpec: "* * * * *", image: "changed" }))).toContain("/a configured");
    expect(await kubectl().ok("get ct a -o jsonpath={.spec.image}")).toBe("changed");
    expect(await kubectl().ok("get ct")).toMatch(/NAME +SPEC +AGE\na +\* \* \* \* \*/);
    expect(await kubectl().ok("get all")).toContain("crontab.stable.example.com/a");
    await kubectl().ok("scale ct/a --replicas=3");
    expect(await kubectl().ok("get ct a -o jsonpath={.spec.replicas}")).toBe("3");
    expect(await kubectl().ok("get ct a -o wide")).toMatch(/REPLICAS/);
    await kubectl().ok(["patch", "ct", "a", "--type=merge", "-p", '{"spec":{"image":"x"}}']);
    expect(await kubectl().ok("get ct --field-selector spec.image=x -o name")).toContain("/a");
    const invalid = await kubectl().fails([
      "patch",
      "ct",
      "a",
      "--type=merge",
      "-p",
      '{"spec":{"replicas":99}}',
    ]);
    expect(invalid).toContain("spec.replicas in body should be less than or equal to 10");
    const unknown = await kubectl().fails("create -f -", {
      input: JSON.stringify(cronTab("b", { cronSpec: "*", nope: 1 })),
    });
    expect(unknown).toContain('strict decoding error: unknown field "spec.nope"');
  });

  test("the official client reads and writes them", async () => {
    const config = new KubeConfig();
    config.loadFromString(await readFile(cluster.server.kubeconfig, "utf8"));
    const api = config.makeApiClient(CustomObjectsApi);
    const place = { group: "stable.example.com", version: "v1", namespace: "default", plural: "crontabs" };
    await api.createNamespacedCustomObject({ ...place, body: cronTab("client") });
    const { items } = (await api.listNamespacedCustomObject(place)) as {
      items: { metadata: { name: string } }[];
    };
    expect(items.map(({ metadata }) => metadata.name)).toContain("client");
    await api.deleteNamespacedCustomObject({ ...place, name: "client" });
  });

  test("the garbage collector deletes dependents of a custom resource, and custom resources of an owner", async () => {
    await apply(cronTab("owner"));
    const uid = await kubectl().ok("get ct owner -o jsonpath={.metadata.uid}");
    const reference = { apiVersion: "stable.example.com/v1", kind: "CronTab", name: "owner", uid };
    const owned = (object: object, name: string) => ({
      ...object,
      metadata: { name, ownerReferences: [reference] },
    });
    await apply(owned({ apiVersion: "v1", kind: "ConfigMap" }, "dependent"));
    await apply(owned(cronTab("dependent"), "dependent"));
    await kubectl().ok("delete ct owner --cascade=background");
    await kubectl().ok("wait configmap/dependent ct/dependent --for=delete --timeout=60s");
  });

  test("orphaning deletion removes the references of custom resources", async () => {
    await apply(cronTab("parent"));
    const uid = await kubectl().ok("get ct parent -o jsonpath={.metadata.uid}");
    const ownerReferences = [{ apiVersion: "stable.example.com/v1", kind: "CronTab", name: "parent", uid }];
    await apply({ ...cronTab("child"), metadata: { name: "child", ownerReferences } });
    await kubectl().ok("delete ct parent --cascade=orphan --timeout=60s");
    expect(await kubectl().ok("get ct child -o jsonpath={.metadata.ownerReferences}")).toBe("");
  });

  test("a deleted namespace takes its custom resources with it", async () => {
    await kubectl().ok("create namespace short");
    await apply(cronTab("a"), "apply -n short -f -");
    await kubectl().ok("delete namespace short --timeout=60s");
    expect(await kubectl().ok("get ct -n short -o name")).toBe("");
  });

  test("a deleted definition takes its objects with it and disappears from discovery", async () => {
    await kubectl().ok("delete crd crontabs.stable.example.com --timeout=60s");
    expect(await kubectl().fails("get ct")).toMatch(/NotFound|doesn't have a resource type/);
    expect(await kubectl().ok("api-resources --api-group=stable.example.com")).not.toContain("crontabs");
  });
});
