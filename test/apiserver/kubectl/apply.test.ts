import { describe, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

function deployment(
  name: string,
  { image = "nginx:1", ...spec }: { image?: string; [field: string]: unknown } = {},
) {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image }] } },
      ...spec,
    },
  };
}

function configMap(name: string, data: Record<string, string>) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { set: name.slice(0, 5) } }, data };
}

describeKubectl(
  "kubectl apply",
  (cluster) => {
    const imageOf = (name: string) =>
      cluster.ok(`get deployment ${name} -o jsonpath={.spec.template.spec.containers[*].image}`);

    test("creates, changes, and reports unchanged objects", async () => {
      expect(await cluster.apply(deployment("web", { replicas: 2 }))).toBe("deployment.apps/web created\n");
      expect(await cluster.apply(deployment("web", { replicas: 2 }))).toBe("deployment.apps/web unchanged\n");
      expect(await cluster.apply(deployment("web", { replicas: 2, image: "nginx:2" }))).toBe(
        "deployment.apps/web configured\n",
      );
      const applied = JSON.parse(await cluster.ok("get deployment web -o json"));
      expect(applied.spec.template.spec.containers).toMatchObject([{ name: "main", image: "nginx:2" }]);
      expect(applied.metadata.generation).toBe(2);
      expect(JSON.parse(applied.metadata.annotations[lastApplied]).spec.replicas).toBe(2);
    });

    test("removes only fields of the last applied version", async () => {
      await cluster.apply(configMap("merged", { mine: "1", old: "1" }));
      await cluster.ok(["patch", "configmap", "merged", "--type=merge", "-p", '{"data":{"theirs":"1"}}']);
      await cluster.apply(configMap("merged", { mine: "2" }));
      expect(await cluster.ok("get configmap merged -o jsonpath={.data}")).toBe('{"mine":"2","theirs":"1"}');
    });

    test("merges containers by name and keeps those of other clients", async () => {
      await cluster.apply(deployment("sidecar"));
      await cluster.ok([
        ...["patch", "deployment", "sidecar", "-p"],
        '{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"envoy"}]}}}}',
      ]);
      await cluster.apply(deployment("sidecar", { image: "nginx:3" }));
      expect((await imageOf("sidecar")).split(" ").toSorted()).toEqual(["envoy", "nginx:3"]);
    });

    test("prunes objects that are no longer in the set", async () => {
      const both = {
        kind: "List",
        apiVersion: "v1",
        items: [configMap("prune-a", { a: "1" }), configMap("prune-b", { a: "1" })],
      };
      await cluster.apply(both);
      const flags = ["--prune", "-l", "set=prune", "--prune-allowlist=core/v1/ConfigMap"];
      expect(await cluster.apply(configMap("prune-a", { a: "1" }), ...flags)).toBe(
        "configmap/prune-a unchanged\nconfigmap/prune-b pruned\n",
      );
      expect(await cluster.ok("get configmaps -l set=prune -o name")).toBe("configmap/prune-a\n");
    });

    test("a server-side dry run returns the result and stores nothing", async () => {
      expect(await cluster.apply(deployment("dry"), "--dry-run=server")).toBe(
        "deployment.apps/dry created (server dry run)\n",
      );
      expect(await cluster.fails("get deployment dry")).toContain("NotFound");
      await cluster.apply(deployment("dry"));
      const shown = JSON.parse(
        await cluster.apply(deployment("dry", { image: "nginx:9" }), "--dry-run=server", "-o", "json"),
      );
      expect(shown.spec.template.spec.containers[0].image).toBe("nginx:9");
      expect(await imageOf("dry")).toBe("nginx:1");
    });

    describe("diff", () => {
      const diff = (manifest: object) => cluster.run("diff -f -", { input: JSON.stringify(manifest) });

      test("exits with 1 and shows the change", async () => {
        await cluster.apply(deployment("differs"));
        const { code, stdout } = await diff(deployment("differs", { image: "nginx:2" }));
        expect(code).toBe(1);
        expect(stdout).toMatch(/^-\s+- image: nginx:1\n\+\s+- image: nginx:2$/m);
        expect(stdout).toMatch(/^-\s+generation: 1\n\+\s+generation: 2$/m);
        expect(await imageOf("differs")).toBe("nginx:1");
      });

      test("exits with 0 if nothing would change", async () => {
        await cluster.apply(deployment("same"));
        expect(await diff(deployment("same"))).toEqual({ code: 0, stdout: "", stderr: "" });
      });

      test("shows a new object completely", async () => {
        const { code, stdout } = await diff(configMap("newer", { a: "1" }));
        expect(code).toBe(1);
        expect(stdout).toMatch(/^\+kind: ConfigMap$/m);
      });
    });

    describe("replace", () => {
      const replace = (manifest: object, ...flags: string[]) =>
        cluster.run(["replace", "-f", "-", ...flags], { input: JSON.stringify(manifest) });

      test("replaces the whole object", async () => {
        await cluster.apply(configMap("whole", { a: "1" }));
        expect(await replace(configMap("whole", { b: "2" }))).toMatchObject({
          stdout: "configmap/whole replaced\n",
        });
        expect(await cluster.ok("get configmap whole -o jsonpath={.data}")).toBe('{"b":"2"}');
      });

      test("deletes the object first with --force", async () => {
        await cluster.apply(configMap("forced", { a: "1" }));
        const before = await cluster.ok("get configmap forced -o jsonpath={.metadata.uid}");
        expect(await replace(configMap("forced", { a: "1" }), "--force")).toMatchObject({ code: 0 });
        expect(await cluster.ok("get configmap forced -o jsonpath={.metadata.uid}")).not.toBe(before);
      });

      test("fails if the object does not exist", async () => {
        const { code, stderr } = await replace(configMap("absent", {}));
        expect(code).toBe(1);
        expect(stderr).toBe(
          'Error from server (NotFound): error when replacing "STDIN": configmaps "absent" not found\n',
        );
      });

      test("of an old version is rejected as a conflict", async () => {
        await cluster.apply(configMap("stale", { a: "1" }));
        const old = JSON.parse(await cluster.ok("get configmap stale -o json"));
        await cluster.ok("label configmap stale new=er");
        expect((await replace({ ...old, data: { a: "2" } })).stderr).toBe(
          'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps ' +
            '"stale": the object has been modified; please apply your changes to the latest version and try again\n',
        );
      });
    });
  },
  { store: { kind: "lmdb" } },
);
