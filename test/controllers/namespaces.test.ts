import { expect, test } from "vitest";
import type { Pod } from "../../src/api/objects.ts";
import { configMap, useControllerCluster } from "../support/controller-cluster.ts";
import { describeWithTool } from "../support/tools.ts";

describeWithTool("kubectl", "namespaces", () => {
  const cluster = useControllerCluster({ withNode: true });
  const until = (what: () => Promise<unknown>) => expect.poll(what, { interval: 20 });

  const conditionsOf = async (name: string) =>
    Object.fromEntries(
      ((await cluster.find("namespaces", name))?.status?.conditions ?? []).map((condition) => [
        condition.type,
        condition,
      ]),
    );

  test("go with all that is in them, pods first", async () => {
    await cluster.kubectl.ok("create namespace team");
    const pod: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "team" },
      spec: {
        terminationGracePeriodSeconds: 1,
        automountServiceAccountToken: false,
        containers: [{ name: "c", image: "web:1" }],
      },
    };
    await cluster.apply(pod, configMap("settings", { namespace: "team" }), {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "reader", namespace: "team" },
      rules: [],
    });
    await cluster.kubectl.ok("wait pod/web -n team --for=condition=Ready --timeout=60s");
    await cluster.kubectl.ok("delete namespace team --timeout=60s");
    expect(await cluster.find("namespaces", "team")).toBeUndefined();
    for (const [resource, name] of [
      ["pods", "web"],
      ["configmaps", "settings"],
      ["roles", "reader"],
    ] as const) {
      expect(await cluster.find(resource, name, "team")).toBeUndefined();
    }
    // Nothing of the old one is in a new one of that name.
    await cluster.kubectl.ok("create namespace team");
    expect(await cluster.kubectl.ok("get all,roles -n team")).toBe("");
    await cluster.kubectl.ok("delete namespace team --timeout=60s");
  });

  test("say what holds them up", async () => {
    await cluster.kubectl.ok("create namespace held");
    const held = configMap("held", { namespace: "held", finalizers: ["example.com/hold"] });
    await cluster.apply(held);
    await cluster.kubectl.ok("delete namespace held --wait=false");
    await until(() => conditionsOf("held")).toMatchObject({
      NamespaceDeletionDiscoveryFailure: { status: "False", reason: "ResourcesDiscovered" },
      NamespaceContentRemaining: {
        status: "True",
        reason: "SomeResourcesRemain",
        message: "Some resources are remaining: configmaps. has 1 resource instances",
      },
      NamespaceFinalizersRemaining: {
        status: "True",
        reason: "SomeFinalizersRemain",
        message:
          "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
      },
    });
    expect(await cluster.kubectl.fails("create configmap late -n held")).toContain(
      "because it is being terminated",
    );
    await cluster.kubectl.ok([
      "patch",
      "configmap",
      "held",
      "-n",
      "held",
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":null}}',
    ]);
    await cluster.kubectl.ok("wait namespace/held --for=delete --timeout=60s");
  });

  test("that were deleted while nobody looked go when somebody does", async () => {
    await cluster.stopControllers();
    await cluster.kubectl.ok("create namespace unseen");
    await cluster.kubectl.ok("delete namespace unseen --wait=false");
    await cluster.startControllers();
    await cluster.kubectl.ok("wait namespace/unseen --for=delete --timeout=60s");
  });

  test("get their service account and CA back", async () => {
    const before = await cluster.find("configmaps", "kube-root-ca.crt");
    await cluster.kubectl.ok("delete serviceaccount default");
    await cluster.kubectl.ok("delete configmap kube-root-ca.crt");
    await until(() => cluster.find("serviceaccounts", "default")).toBeDefined();
    await until(async () => (await cluster.find("configmaps", "kube-root-ca.crt"))?.data).toEqual(
      before?.data,
    );
    await cluster.kubectl.ok([
      "patch",
      "configmap",
      "kube-root-ca.crt",
      "--type=merge",
      "-p",
      '{"data":{"ca.crt":"mine"}}',
    ]);
    await until(async () => (await cluster.find("configmaps", "kube-root-ca.crt"))?.data).toEqual(
      before?.data,
    );
  });
});
