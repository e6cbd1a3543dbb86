import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { describeKubectl, type KubectlCluster } from "../../support/kubectl/describe-kubectl.ts";
import { oneOfEach } from "../../support/kubectl/one-of-each.ts";

/** Columns of `get` for each kind, and those that `-o wide` adds. */
const columns = [
  ["pods", "NAME READY STATUS RESTARTS AGE", "IP NODE NOMINATED-NODE READINESS-GATES"],
  [
    "nodes",
    "NAME STATUS ROLES AGE VERSION",
    "INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME",
  ],
  ["services", "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE", "SELECTOR"],
  ["endpointslices", "NAME ADDRESSTYPE PORTS ENDPOINTS AGE", ""],
  ["configmaps", "NAME DATA AGE", ""],
  ["secrets", "NAME TYPE DATA AGE", ""],
  ["serviceaccounts", "NAME AGE", ""],
  ["namespaces", "NAME STATUS AGE", ""],
  [
    "persistentvolumes",
    "NAME CAPACITY ACCESS-MODES RECLAIM-POLICY STATUS CLAIM STORAGECLASS VOLUMEATTRIBUTESCLASS REASON AGE",
    "VOLUMEMODE",
  ],
  [
    "persistentvolumeclaims",
    "NAME STATUS VOLUME CAPACITY ACCESS-MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE",
    "VOLUMEMODE",
  ],
  ["storageclasses", "NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE", ""],
  ["runtimeclasses", "NAME HANDLER AGE", ""],
  ["priorityclasses", "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY", ""],
  ["leases", "NAME HOLDER AGE", ""],
  ["deployments", "NAME READY UP-TO-DATE AVAILABLE AGE", "CONTAINERS IMAGES SELECTOR"],
  ["replicasets", "NAME DESIRED CURRENT READY AGE", "CONTAINERS IMAGES SELECTOR"],
  ["statefulsets", "NAME READY AGE", "CONTAINERS IMAGES"],
  [
    "daemonsets",
    "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE-SELECTOR AGE",
    "CONTAINERS IMAGES SELECTOR",
  ],
  ["controllerrevisions", "NAME CONTROLLER REVISION AGE", ""],
  ["poddisruptionbudgets", "NAME MIN-AVAILABLE MAX-UNAVAILABLE ALLOWED-DISRUPTIONS AGE", ""],
  ["roles", "NAME CREATED-AT", ""],
  ["rolebindings", "NAME ROLE AGE", "USERS GROUPS SERVICEACCOUNTS"],
  ["clusterroles", "NAME CREATED-AT", ""],
  ["clusterrolebindings", "NAME ROLE AGE", "USERS GROUPS SERVICEACCOUNTS"],
] as const;

describeKubectl("kubectl get", (cluster, tool) => {
  beforeAll(async () => {
    await cluster.apply(oneOfEach(tool));
    await cluster.ok("run two --image=nginx --labels=app=two,tier=web");
    await cluster.ok("run three --image=nginx --labels=app=three,tier=web");
    await reportRunning(cluster, "one");
  });

  test("every kind has upstream's columns", async () => {
    const kinds = columns.map(([kind]) => kind).join(",");
    const plain = (await cluster.ok(`get ${kinds}`)).split("\n\n").map(headerOf);
    expect(plain).toEqual(columns.map(([, usual]) => usual));
    const wide = (await cluster.ok(`get ${kinds} -o wide`)).split("\n\n").map(headerOf);
    expect(wide).toEqual(columns.map(([, usual, more]) => `${usual} ${more}`.trim()));
  });

  test("a running pod and its service, in the usual columns", async () => {
    const pod = await cluster.ok("get pod one -o wide");
    expect(pod).toMatch(/^one +1\/1 +Running +0 +(\d+m)?\d+s +10\.1\.2\.3 +node-\S+ +<none> +<none>$/m);
    expect(await cluster.ok("get service one")).toMatch(
      /^one +ClusterIP +10\.96\.\d+\.\d+ +<none> +80\/TCP +(\d+m)?\d+s$/m,
    );
  });

  test("several kinds at once are printed with their kind", async () => {
    const text = await cluster.ok("get pod/one deployment/one");
    expect(text).toMatch(/^pod\/one /m);
    expect(text).toMatch(/^deployment.apps\/one +0\/2 /m);
  });

  test("all shows the kinds of the category", async () => {
    const kinds = (await cluster.ok("get all -o name")).match(/^[^/]+/gm);
    expect(new Set(kinds)).toEqual(
      new Set([
        ...["pod", "service", "deployment.apps", "replicaset.apps", "statefulset.apps", "job.batch"],
        "cronjob.batch",
        "daemonset.apps",
      ]),
    );
  });

  test("yaml and json have the same content", async () => {
    const json = JSON.parse(await cluster.ok("get pod one -o json"));
    expect(parse(await cluster.ok("get pod one -o yaml"))).toEqual(json);
    expect(json).toMatchObject({ apiVersion: "v1", kind: "Pod", metadata: { name: "one" } });
    const list = JSON.parse(await cluster.ok("get pods -o json"));
    expect(list).toMatchObject({ apiVersion: "v1", kind: "List" });
    expect(list.items).toHaveLength(3);
  });

  test.each([
    ["get pods -o name", "pod/one\npod/three\npod/two\n"],
    ["get pods -o name -l tier=web", "pod/three\npod/two\n"],
    ["get pods -o name -l app!=one,tier", "pod/three\npod/two\n"],
    ["get pods -o name --field-selector=status.phase=Running", "pod/one\n"],
    ["get pods -o name --field-selector=metadata.name!=one,spec.nodeName=", "pod/three\npod/two\n"],
    [`get pods -o name -A --field-selector=spec.nodeName=node-${tool}`, "pod/one\n"],
    ["get pods -o jsonpath={.items[*].metadata.name}", "one three two"],
    [
      "get pods -o custom-columns=N:.metadata.name,A:.metadata.labels.app",
      "N A\none one\nthree three\ntwo two\n",
    ],
    ["get pods -o go-template={{len(.items)}}", "3"],
    ["get pods --no-headers -o name --chunk-size=1", "pod/one\npod/three\npod/two\n"],
    ["get configmap nope --ignore-not-found", ""],
    ["get deployment one --subresource=scale", "NAME DESIRED AVAILABLE AGE\none 2 0 AGE\n"],
    ["get deployment one --subresource=status -o name", "deployment.apps/one\n"],
  ])("%s", async (command, expected) => {
    const printed = await cluster.ok(command.replace("len(.items)", "len .items").split(/ (?!\.items)/));
    expect(
      printed
        .replace(/ +/g, " ")
        .replace(/(\d+m)?\d+s$/gm, "AGE")
        .replace(/ \n/g, "\n"),
    ).toBe(expected);
  });

  test("labels as columns", async () => {
    const text = await cluster.ok("get pods --show-labels -L app");
    expect(headerOf(text)).toBe("NAME READY STATUS RESTARTS AGE APP LABELS");
    expect(text).toMatch(/^two +.* two +app=two,tier=web$/m);
  });

  test("sorted by a field", async () => {
    const ascending = await cluster.ok("get pods --sort-by=.metadata.labels.app --no-headers");
    expect(ascending.match(/^\S+/gm)).toEqual(["one", "three", "two"]);
    const byTime = await cluster.ok("get pods --sort-by=.metadata.creationTimestamp --no-headers");
    expect(byTime.match(/^\S+/gm)?.toSorted()).toEqual(["one", "three", "two"]);
  });

  test("the namespace is the first column across namespaces", async () => {
    const text = await cluster.ok("get pods -A");
    expect(headerOf(text)).toBe("NAMESPACE NAME READY STATUS RESTARTS AGE");
    expect(text).toMatch(new RegExp(`^${cluster.namespace} +one `, "m"));
  });

  describe("watch", () => {
    test("prints existing objects, then each change", async () => {
      const watch = cluster.follow("get configmaps -w --output-watch-events");
      await watch.until(/ADDED +one/);
      await cluster.ok("create configmap seen --from-literal=a=1");
      await cluster.ok("label configmap seen a=b");
      await cluster.ok("delete configmap seen");
      const text = await watch.until(/DELETED/);
      await watch.stop();
      const changes = [...text.matchAll(/^(\S+) +seen +1 /gm)].map(([, event]) => event);
      expect(changes).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    });

    test("only of one object, and only changes", async () => {
      const watch = cluster.follow("get pods two --watch-only -o name");
      // A watch of changes prints nothing when it is ready, so the test makes changes until it prints one.
      const stop = setInterval(
        () => void cluster.run(`annotate pods --all at=${Date.now()} --overwrite`),
        300,
      );
      const text = await watch.until(/\n/);
      clearInterval(stop);
      await watch.stop();
      expect(new Set(text.trim().split("\n"))).toEqual(new Set(["pod/two"]));
    });
  });

  test.each([
    ["/version", /"gitVersion": "v1\.36\./],
    ["/healthz", /^ok$/],
    ["/livez?verbose", /\[\+\]ping ok\n(.*\n)*livez check passed\n$/],
    ["/readyz?verbose", /\[\+\]ping ok\n(.*\n)*readyz check passed\n$/],
    ["/metrics", /^apiserver_request_total\{.*verb="LIST".*resource="configmaps".*\} \d+$/m],
    ["/api/v1/namespaces/default/services?limit=1", /"kind":"ServiceList"/],
    ["/openapi/v3", /"apis\/apps\/v1":\{"serverRelativeURL":"\/openapi\/v3\/apis\/apps\/v1\?hash=/],
  ])("get --raw %s", async (path, pattern) => {
    expect(await cluster.ok(["get", "--raw", path])).toMatch(pattern);
  });
});

/** Writes the status as a kubelet does. */
async function reportRunning(cluster: KubectlCluster, name: string): Promise<void> {
  const status = {
    phase: "Running",
    podIP: "10.1.2.3",
    podIPs: [{ ip: "10.1.2.3" }],
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [
      {
        name: "main",
        image: "nginx:1",
        imageID: "",
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: new Date().toISOString().replace(/\.\d+/, "") } },
      },
    ],
  };
  await cluster.ok([
    "patch",
    "pod",
    name,
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify({ status }),
  ]);
}

/** Column names, one space apart. Names of two words are joined, so that each column is one. */
function headerOf(text: string): string {
  const [header = ""] = text.split("\n");
  return header
    .trim()
    .split(/ {2,}/)
    .map((name) => name.replace(" ", "-"))
    .join(" ");
}
