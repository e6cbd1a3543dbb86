import { describe, expect, test } from "vitest";
import { describeKubectl } from "../../support/describe-kubectl.ts";

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

    test("creates, changes, and knows when nothing changed", async () => {
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

    test("takes away what the last version had, and only that", async () => {
      await cluster.apply(configMap("merged", { mine: "1", old: "1" }));
      await cluster.ok(["patch", "configmap", "merged", "--type=merge", "-p", '{"data":{"theirs":"1"}}']);
      await cluster.apply(configMap("merged", { mine: "2" }));
      expect(await cluster.ok("get configmap merged -o jsonpath={.data}")).toBe('{"mine":"2","theirs":"1"}');
    });

    test("merges containers by name: those of others stay", async () => {
      await cluster.apply(deployment("sidecar"));
      await cluster.ok([
        ...["patch", "deployment", "sidecar", "-p"],
        '{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"envoy"}]}}}}',
      ]);
      await cluster.apply(deployment("sidecar", { image: "nginx:3" }));
      expect((await imageOf("sidecar")).split(" ").toSorted()).toEqual(["envoy", "nginx:3"]);
    });

    test("prunes what is no longer in the set", async () => {
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

    test("a dry run on the server shows the result and keeps nothing", async () => {
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

    test("on the server's side it is refused with the reason", async () => {
      const { code, stderr } = await cluster.run("apply --server-side -f -", {
        input: JSON.stringify(configMap("serverside", {})),
      });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^error: Server-side apply not available on the server: .*accepted media types include/,
      );
    });

    describe("diff", () => {
      const diff = (manifest: object) => cluster.run("diff -f -", { input: JSON.stringify(manifest) });

      test("ends with 1 and shows the change", async () => {
        await cluster.apply(deployment("differs"));
        const { code, stdout } = await diff(deployment("differs", { image: "nginx:2" }));
        expect(code).toBe(1);
        expect(stdout).toMatch(/^-\s+- image: nginx:1\n\+\s+- image: nginx:2$/m);
        expect(stdout).toMatch(/^-\s+generation: 1\n\+\s+generation: 2$/m);
        expect(await imageOf("differs")).toBe("nginx:1");
      });

      test("ends with 0 where nothing would change", async () => {
        await cluster.apply(deployment("same"));
        expect(await diff(deployment("same"))).toEqual({ code: 0, stdout: "", stderr: "" });
      });

      test("shows all of a new object", async () => {
        const { code, stdout } = await diff(configMap("newer", { a: "1" }));
        expect(code).toBe(1);
        expect(stdout).toMatch(/^\+kind: ConfigMap$/m);
      });
    });

    describe("replace", () => {
      const replace = (manifest: object, ...flags: string[]) =>
        cluster.run(["replace", "-f", "-", ...flags], { input: JSON.stringify(manifest) });

      test("puts the whole object in the place of the old", async () => {
        await cluster.apply(configMap("whole", { a: "1" }));
        expect(await replace(configMap("whole", { b: "2" }))).toMatchObject({
          stdout: "configmap/whole replaced\n",
        });
        expect(await cluster.ok("get configmap whole -o jsonpath={.data}")).toBe('{"b":"2"}');
      });

      test("by force deletes first", async () => {
        await cluster.apply(configMap("forced", { a: "1" }));
        const before = await cluster.ok("get configmap forced -o jsonpath={.metadata.uid}");
        expect(await replace(configMap("forced", { a: "1" }), "--force")).toMatchObject({ code: 0 });
        expect(await cluster.ok("get configmap forced -o jsonpath={.metadata.uid}")).not.toBe(before);
      });

      test("needs something to replace", async () => {
        const { code, stderr } = await replace(configMap("absent", {}));
        expect(code).toBe(1);
        expect(stderr).toBe(
          'Error from server (NotFound): error when replacing "STDIN": configmaps "absent" not found\n',
        );
      });

      test("of an old version is a conflict", async () => {
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
