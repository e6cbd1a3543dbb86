import { expect, test } from "vitest";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { makePod } from "../support/manifests/pod.ts";
import { describeWithTool } from "../support/programs/tools.ts";

describeWithTool("kubectl", "namespaces", () => {
  const cluster = useKubectlCluster();
  const until = (what: () => Promise<unknown>) => expect.poll(what, { interval: 20 });

  const conditionsOf = async (name: string) =>
    Object.fromEntries(
      ((await cluster.find("namespaces", name))?.status?.conditions ?? []).map((condition) => [
        condition.type,
        condition,
      ]),
    );

  test("are deleted with their contents, pods first", async () => {
    await cluster.kubectl.ok("create namespace team");
    const pod = makePod("web", { metadata: { namespace: "team" } });
    await cluster.apply(pod, makeConfigMap("settings", { namespace: "team" }), {
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

  test("report what blocks their deletion", async () => {
    await cluster.kubectl.ok("create namespace held");
    const held = makeConfigMap("held", { namespace: "held", finalizers: ["example.com/hold"] });
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

  test("that were deleted while no controller ran are finalized when one starts", async () => {
    await cluster.stopControllers();
    await cluster.kubectl.ok("create namespace unseen");
    await cluster.kubectl.ok("delete namespace unseen --wait=false");
    await cluster.startControllers();
    await cluster.kubectl.ok("wait namespace/unseen --for=delete --timeout=60s");
  });

  test("get their service account and CA restored", async () => {
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
