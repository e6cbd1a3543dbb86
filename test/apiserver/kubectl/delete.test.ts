import { describe, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";
import { isToolAtLeast } from "../../support/programs/tools.ts";

describeKubectl("kubectl delete and wait", (cluster, tool) => {
  /** kubectl prints the namespace since 1.34. */
  const deleted = (what: string, verb = "deleted") =>
    isToolAtLeast(tool, "1.34")
      ? `${what} ${verb} from ${cluster.namespace} namespace\n`
      : `${what} ${verb}\n`;

  const gone = async (what: string) => expect(await cluster.fails(`get ${what}`)).toContain("(NotFound)");

  describe("pods", () => {
    test("without a node are deleted immediately", async () => {
      await cluster.ok("run here --image=i");
      expect(await cluster.ok("delete pod here")).toBe(deleted('pod "here"'));
      await gone("pod/here");
    });

    test("by label, and no others", async () => {
      for (const [name, app] of [
        ["l1", "x"],
        ["l2", "x"],
        ["l3", "y"],
      ])
        await cluster.ok(`run ${name} --image=i -l app=${app}`);
      expect(await cluster.ok("delete pods -l app=x")).toBe(deleted('pod "l1"') + deleted('pod "l2"'));
      expect(await cluster.ok("get pods -o name")).toBe("pod/l3\n");
    });

    test("on a node wait for the kubelet, and are deleted immediately with --force", async () => {
      await cluster.ok(["run", "there", "--image=i", '--overrides={"spec":{"nodeName":"n1"}}']);
      await cluster.ok("delete pod there --wait=false");
      expect(await cluster.ok("get pod there")).toMatch(/^there +0\/1 +Terminating /m);
      const waiting = cluster.run("wait --for=delete pod/there --timeout=60s");
      const forced = await cluster.run("delete pod there --grace-period=0 --force");
      expect(forced.stdout).toBe(deleted('pod "there"', "force deleted"));
      expect(forced.stderr).toContain("Immediate deletion does not wait for confirmation");
      // It prints nothing if the pod is already deleted.
      const { code, stdout } = await waiting;
      expect(code).toBe(0);
      expect(stdout).toMatch(/^(pod\/there condition met\n)?$/);
    });
  });

  test("all of a kind", async () => {
    await cluster.ok("create secret generic s1");
    await cluster.ok("create secret generic s2");
    expect(await cluster.ok("delete secrets --all")).toBe(deleted('secret "s1"') + deleted('secret "s2"'));
  });

  test("objects of a file", async () => {
    const input = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "filed" } });
    await cluster.ok("create -f -", { input });
    expect(await cluster.ok("delete -f -", { input })).toBe(deleted('configmap "filed"'));
    expect(await cluster.fails("delete -f -", { input })).toContain('configmaps "filed" not found');
    expect(await cluster.ok("delete -f - --ignore-not-found", { input })).toBe("");
  });

  test("a dry run on the server deletes nothing", async () => {
    await cluster.ok("create configmap kept");
    expect(await cluster.ok("delete configmap kept --dry-run=server")).toBe(
      deleted('configmap "kept"').replace("\n", " (server dry run)\n"),
    );
    await cluster.ok("get configmap kept");
  });

  test.each([
    ["foreground", '["foregroundDeletion"]'],
    ["orphan", '["orphan"]'],
  ])("--cascade=%s leaves the finalizer for the garbage collector", async (cascade, finalizers) => {
    await cluster.ok(`create deployment ${cascade} --image=i`);
    await cluster.ok(`delete deployment ${cascade} --cascade=${cascade} --wait=false`);
    expect(await cluster.ok(`get deployment ${cascade} -o jsonpath={.metadata.finalizers}`)).toBe(finalizers);
    // Takes it off, as the collector does once the dependents are dealt with.
    await cluster.ok([
      "patch",
      "deployment",
      cascade,
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":null}}',
    ]);
    await gone(`deployment/${cascade}`);
  });

  test("--cascade=background removes at once", async () => {
    await cluster.ok("create deployment background --image=i");
    await cluster.ok("delete deployment background --cascade=background");
    await gone("deployment/background");
  });

  test("a namespace is Terminating, rejects new objects, and is deleted when it is finalized", async () => {
    const name = `ending-${tool}`;
    await cluster.ok(`create namespace ${name}`);
    expect(await cluster.ok(`delete namespace ${name} --wait=false`)).toBe(`namespace "${name}" deleted\n`);
    expect(await cluster.ok(`get namespace ${name}`)).toMatch(new RegExp(`^${name} +Terminating `, "m"));
    expect(await cluster.fails(`create configmap late -n ${name}`)).toBe(
      `error: failed to create configmap: configmaps "late" is forbidden: unable to create new content in namespace ${name} ` +
        "because it is being terminated\n",
    );
    const waiting = cluster.run(`wait --for=delete namespace/${name} --timeout=60s`);
    const namespace = JSON.parse(await cluster.ok(`get namespace ${name} -o json`));
    namespace.spec.finalizers = [];
    await cluster.ok(`replace --raw /api/v1/namespaces/${name}/finalize -f -`, {
      input: JSON.stringify(namespace),
    });
    expect(await waiting).toMatchObject({ code: 0 });
    await gone(`namespace/${name}`);
  });

  test("system namespaces cannot be deleted", async () => {
    for (const name of ["default", "kube-system", "kube-public"]) {
      expect(await cluster.fails(`delete namespace ${name}`)).toContain(
        `namespaces "${name}" is forbidden: this namespace may not be deleted`,
      );
    }
  });

  describe("wait", () => {
    const setStatus = (status: object) =>
      cluster.ok([
        ...["patch", "pod", "waited", "--subresource=status", "--type=merge", "-p"],
        JSON.stringify({ status }),
      ]);

    test("for a condition, and for a value", async () => {
      await cluster.ok("run waited --image=i");
      const ready = cluster.run("wait --for=condition=Ready pod/waited --timeout=60s");
      const running = cluster.run("wait --for=jsonpath={.status.phase}=Running pod/waited --timeout=60s");
      await setStatus({ phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
      expect(await ready).toMatchObject({ code: 0, stdout: "pod/waited condition met\n" });
      expect(await running).toMatchObject({ code: 0, stdout: "pod/waited condition met\n" });
    });

    test("for the creation of an object", async () => {
      const waiting = cluster.run("wait --for=create configmap/awaited --timeout=60s");
      await cluster.ok("create configmap awaited");
      expect(await waiting).toMatchObject({ code: 0, stdout: "configmap/awaited condition met\n" });
    });

    test("fails after its timeout", async () => {
      expect(await cluster.fails("wait --for=condition=Nope pod/waited --timeout=100ms")).toBe(
        "error: timed out waiting for the condition on pods/waited\n",
      );
    });
  });
});
