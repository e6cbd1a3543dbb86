import { beforeAll, describe, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";

describeKubectl("kubectl changes objects", (cluster) => {
  beforeAll(async () => {
    await cluster.ok("create deployment web --image=nginx:1 --replicas=2");
    await cluster.ok("run pod --image=nginx:1 --labels=app=pod");
    await cluster.apply({
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "db" },
      spec: {
        serviceName: "db",
        selector: { matchLabels: { app: "db" } },
        template: {
          metadata: { labels: { app: "db" } },
          spec: { containers: [{ name: "main", image: "db:1" }] },
        },
      },
    });
  });

  const read = (what: string, path: string) => cluster.ok(`get ${what} -o jsonpath={${path}}`);

  describe("edit", () => {
    const edit = (script: string, what: string, ...flags: string[]) =>
      cluster.run(["edit", what, ...flags], { env: { KUBE_EDITOR: `sed -i ${script}` } });

    test("saves the edited object", async () => {
      expect(await edit("s/nginx:1/nginx:2/", "deployment/web")).toMatchObject({
        code: 0,
        stdout: "deployment.apps/web edited\n",
      });
      expect(await read("deployment/web", ".spec.template.spec.containers[0].image")).toBe("nginx:2");
    });

    test("without a change does nothing", async () => {
      const { stderr } = await edit("s/nothing/else/", "deployment/web");
      expect(stderr).toBe("Edit cancelled, no changes made.\n");
    });

    test.each([
      ["an invalid value", "s/replicas:.*/replicas:\\ -1/"],
      ["an unknown field", "s/replicas:.*/replicaz:\\ 1/"],
    ])("%s is refused and the text kept", async (_, script) => {
      const { code, stderr } = await edit(script, "deployment/web");
      expect(code).toBe(1);
      expect(stderr).toMatch(/deployments?.apps "web" is (invalid|not valid)/);
      expect(stderr).toMatch(/A copy of your changes has been stored to/);
      expect(await read("deployment/web", ".spec.replicas")).toBe("2");
    });

    test("of the status", async () => {
      await edit(
        "s/status:.*/status:\\ {observedGeneration:\\ 7}/",
        "deployment/web",
        "--subresource=status",
      );
      expect(await read("deployment/web", ".status.observedGeneration")).toBe("7");
    });
  });

  describe("patch", () => {
    test.each([
      [
        "strategic",
        '{"spec":{"template":{"spec":{"containers":[{"name":"new","image":"new:1"}]}}}}',
        "new:1 nginx:2",
      ],
      [
        "strategic",
        '{"spec":{"template":{"spec":{"containers":[{"name":"new","$patch":"delete"}]}}}}',
        "nginx:2",
      ],
      ["merge", '{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"only:1"}]}}}}', "only:1"],
      [
        "json",
        '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"json:1"}]',
        "json:1",
      ],
    ])("%s %s", async (type, patch, images) => {
      expect(await cluster.ok(["patch", "deployment", "web", `--type=${type}`, "-p", patch])).toBe(
        "deployment.apps/web patched\n",
      );
      const found = await read("deployment/web", ".spec.template.spec.containers[*].image");
      expect(found.split(" ").toSorted().join(" ")).toBe(images);
    });

    test('without a change reports "no change"', async () => {
      const patch = ["patch", "deployment", "web", "-p", '{"metadata":{"labels":{"same":"same"}}}'];
      await cluster.ok(patch);
      expect(await cluster.ok(patch)).toBe("deployment.apps/web patched (no change)\n");
    });

    test("of the scale and the status", async () => {
      const patch = (subresource: string, text: string) =>
        cluster.ok([
          "patch",
          "statefulset",
          "db",
          `--subresource=${subresource}`,
          "--type=merge",
          "-p",
          text,
        ]);
      await patch("scale", '{"spec":{"replicas":4}}');
      await patch("status", '{"status":{"replicas":3}}');
      expect(await read("statefulset/db", "['spec','status'].replicas")).toBe("4 3");
    });

    test.each([
      [
        "a test that fails",
        ["--type=json", "-p", '[{"op":"test","path":"/kind","value":"Other"}]'],
        "The request is invalid: the server rejected our request due to an error in our request\n",
      ],
      [
        "a path that is not there",
        ["--type=json", "-p", '[{"op":"remove","path":"/metadata/labels/nope"}]'],
        "The request is invalid: the server rejected our request due to an error in our request\n",
      ],
      [
        "a field that may not change",
        ["-p", '{"spec":{"selector":{"matchLabels":{"other":"x"}}}}'],
        'The Deployment "web" is invalid: \n* spec.template.metadata.labels: Invalid value: {"app":"web"}: ' +
          "`selector` does not match template `labels`\n* spec.selector: Invalid value: " +
          '{"matchLabels":{"app":"web","other":"x"}}: field is immutable\n',
      ],
    ])("%s is refused", async (_, flags, complaint) => {
      expect(await cluster.fails(["patch", "deployment", "web", ...flags])).toContain(complaint);
    });
  });

  describe("label and annotate", () => {
    test.each([
      ["label pod pod colour=red", "pod/pod labeled\n", ".metadata.labels.colour", "red"],
      ["label pod pod colour=red", "pod/pod not labeled\n", ".metadata.labels.colour", "red"],
      ["label pod pod colour=blue --overwrite", "pod/pod labeled\n", ".metadata.labels.colour", "blue"],
      ["label pod pod colour-", "pod/pod unlabeled\n", ".metadata.labels", '{"app":"pod"}'],
      ["label pods --all batch=1", "pod/pod labeled\n", ".metadata.labels.batch", "1"],
      ["annotate pod pod why=because", "pod/pod annotated\n", ".metadata.annotations.why", "because"],
      ["annotate pod pod why-", "pod/pod annotated\n", ".metadata.annotations", ""],
    ])("%s", async (command, says, path, value) => {
      expect(await cluster.ok(command)).toBe(says);
      expect(await read("pod/pod", path)).toBe(value);
    });

    test("does not overwrite an existing value without --overwrite", async () => {
      await cluster.ok("label pod pod kept=1 --overwrite");
      expect(await cluster.fails("label pod pod kept=2")).toContain(
        "already has a value (1), and --overwrite is false",
      );
    });

    test("rejects an invalid label with the reason", async () => {
      const patch = '{"metadata":{"labels":{"bad":"not a label!"}}}';
      expect(await cluster.fails(["patch", "pod", "pod", "-p", patch])).toContain(
        'The Pod "pod" is invalid: metadata.labels: Invalid value: "not a label!": a valid label must be an empty string or ' +
          "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      );
    });
  });

  describe("set", () => {
    test.each([
      [
        "set image statefulset/db main=db:2",
        "statefulset.apps/db image updated\n",
        ".spec.template.spec.containers[0].image",
        "db:2",
      ],
      [
        "set env statefulset/db A=b",
        "statefulset.apps/db env updated\n",
        ".spec.template.spec.containers[0].env",
        '[{"name":"A","value":"b"}]',
      ],
      [
        "set resources statefulset/db --limits=cpu=1",
        "statefulset.apps/db resource requirements updated\n",
        ".spec.template.spec.containers[0].resources.limits.cpu",
        "1",
      ],
      [
        "set serviceaccount statefulset/db me",
        "statefulset.apps/db serviceaccount updated\n",
        ".spec.template.spec.serviceAccountName",
        "me",
      ],
    ])("%s", async (command, says, path, value) => {
      expect(await cluster.ok(command)).toBe(says);
      expect(await read("statefulset/db", path)).toBe(value);
    });
  });

  describe("scale", () => {
    test.each([
      ["deployment/web", "deployment.apps/web"],
      ["statefulset/db", "statefulset.apps/db"],
    ])("%s", async (what, named) => {
      expect(await cluster.ok(`scale ${what} --replicas=5`)).toBe(`${named} scaled\n`);
      expect(await read(what, ".spec.replicas")).toBe("5");
      expect(await cluster.fails(`scale ${what} --replicas=6 --current-replicas=4`)).toContain(
        "Expected replicas to be 4, was 5",
      );
    });
  });
});
