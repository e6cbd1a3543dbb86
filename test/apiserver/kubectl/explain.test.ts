import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";

describeKubectl("kubectl explain and discovery", (cluster) => {
  describe("explain", () => {
    test("a kind", async () => {
      const text = await cluster.ok("explain deployment");
      expect(text).toMatch(/^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n/);
      expect(text).toMatch(/^ {2}spec\t<DeploymentSpec>$/m);
    });

    test("a field deep inside, with its own fields", async () => {
      const text = await cluster.ok("explain pod.spec.containers.startupProbe");
      expect(text).toMatch(/^FIELD: startupProbe <Probe>$/m);
      expect(text).toMatch(/^ {2}failureThreshold\t<integer>$/m);
    });

    test("all fields recursively", async () => {
      const text = await cluster.ok("explain statefulset.spec.updateStrategy --recursive");
      expect(text).toMatch(/^ {2}rollingUpdate\t<RollingUpdateStatefulSetStrategy>$/m);
      expect(text).toMatch(/^ {4}partition\t<integer>$/m);
    });

    test("the kind of another group by version", async () => {
      const text = await cluster.ok("explain event --api-version=events.k8s.io/v1");
      expect(text).toMatch(/^ {2}regarding\t<ObjectReference>$/m);
    });

    test("in the old form, from OpenAPI v2", async () => {
      const text = await cluster.ok("explain pod.spec --output=plaintext-openapiv2");
      expect(text).toMatch(/^KIND: +Pod\nVERSION: +v1\n/);
      expect(text).toMatch(/^ {3}containers\t<\[\]Object> -required-$/m);
    });

    test.each([
      ["pod.spec.nope", 'error: field "nope" does not exist\n'],
      ["nope", `the server doesn't have a resource type "nope"`],
    ])("%s is not there", async (what, complaint) => {
      expect(await cluster.fails(`explain ${what}`)).toContain(complaint);
    });
  });

  test("api-resources lists names, short names and kinds", async () => {
    const text = await cluster.ok("api-resources --no-headers");
    const rows = text
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/ +/).join(" "));
    expect(rows).toEqual(
      expect.arrayContaining([
        "pods po v1 true Pod",
        "nodes no v1 false Node",
        "statefulsets sts apps/v1 true StatefulSet",
        "poddisruptionbudgets pdb policy/v1 true PodDisruptionBudget",
        "clusterroles rbac.authorization.k8s.io/v1 false ClusterRole",
        "selfsubjectaccessreviews authorization.k8s.io/v1 false SelfSubjectAccessReview",
      ]),
    );
    const wide = await cluster.ok("api-resources -o wide --api-group=apps");
    expect(wide).toMatch(
      /^deployments +deploy +apps\/v1 +true +Deployment +create,delete,deletecollection,get,list,patch,update,watch +all$/m,
    );
    expect(await cluster.ok("api-resources --verbs=create --namespaced=false -o name")).not.toMatch(
      /^pods$/m,
    );
  });

  test("api-versions", async () => {
    expect((await cluster.ok("api-versions")).trim().split("\n")).toEqual([
      "admissionregistration.k8s.io/v1",
      "apiextensions.k8s.io/v1",
      "apps/v1",
      "authentication.k8s.io/v1",
      "authorization.k8s.io/v1",
      "batch/v1",
      "coordination.k8s.io/v1",
      "discovery.k8s.io/v1",
      "events.k8s.io/v1",
      "networking.k8s.io/v1",
      "node.k8s.io/v1",
      "policy/v1",
      "rbac.authorization.k8s.io/v1",
      "scheduling.k8s.io/v1",
      "storage.k8s.io/v1",
      "v1",
    ]);
  });

  test("short names and singulars find their kind", async () => {
    for (const name of ["sts", "statefulset", "StatefulSet", "statefulsets.v1.apps"]) {
      expect(await cluster.run(`get ${name}`)).toMatchObject({
        code: 0,
        stderr: `No resources found in ${cluster.namespace} namespace.\n`,
      });
    }
  });

  test("cluster-info and version", async () => {
    const info = stripVTControlCharacters(await cluster.ok("cluster-info"));
    expect(info).toContain(`Kubernetes control plane is running at ${cluster.server.url}`);
    expect(await cluster.ok("version")).toMatch(/^Server Version: v1\.36\.\d/m);
  });
});
