import { expect, test } from "vitest";
import type { EndpointSlice, Pod, Service } from "../../src/api/meta/objects.ts";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { makePod, type PodSpecFields } from "../support/manifests/pod.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const namespace = "default";

function service(name: string, spec: Service["spec"] = {}): Service {
  const ports = [{ name: "http", port: 80, targetPort: "web" }];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: { app: name }, ports, ...spec },
  };
}

function pod(name: string, app: string, spec: PodSpecFields = {}): Pod {
  const container = { ports: [{ name: "web", containerPort: 8080 }] };
  return makePod(name, { metadata: { labels: { app } }, container, ...spec });
}

describeWithTool("kubectl", "the addresses of services", () => {
  const cluster = useKubectlCluster();
  const until = (what: () => Promise<unknown>) => expect.poll(what, { interval: 20 });

  async function slicesOf(name: string): Promise<readonly EndpointSlice[]> {
    const labelSelector = `kubernetes.io/service-name=${name}`;
    return (await cluster.client.list("endpointslices", { namespace, labelSelector })).items;
  }
  /** `web-a ready serving`, in order. */
  async function picture(name: string): Promise<string[]> {
    return (await slicesOf(name))
      .flatMap(({ endpoints }) => endpoints ?? [])
      .map(({ targetRef, conditions = {} }) => {
        const { ready, serving, terminating } = conditions;
        const words = [ready && "ready", serving && "serving", terminating && "terminating"];
        return [targetRef?.name, ...words.filter(Boolean)].join(" ");
      })
      .sort();
  }
  const subsetsOf = async (name: string) => (await cluster.find("endpoints", name))?.subsets;

  test("list the service's pods, and kubectl shows them", async () => {
    await cluster.apply(service("web"));
    await until(async () => (await slicesOf("web")).map(({ endpoints }) => endpoints ?? [])).toEqual([[]]);
    await cluster.apply(pod("web-a", "web"), pod("web-b", "web"), pod("other", "other"));
    await until(() => picture("web")).toEqual(["web-a ready serving", "web-b ready serving"]);
    const [slice] = await slicesOf("web");
    expect(slice).toMatchObject({
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      metadata: { ownerReferences: [{ kind: "Service", name: "web", controller: true }] },
    });
    const ips = await Promise.all(
      ["web-a", "web-b"].map(async (name) => (await cluster.find("pods", name))?.status?.podIP ?? ""),
    );
    expect(slice?.endpoints?.every(({ nodeName }) => nodeName === cluster.node.name)).toBe(true);
    const table = await cluster.kubectl.ok("get endpointslices -l kubernetes.io/service-name=web");
    for (const ip of ips) expect(table).toContain(ip);
    await until(async () => (await subsetsOf("web"))?.[0]?.addresses?.map(({ ip }) => ip)).toEqual(
      ips.sort(),
    );
    expect(await cluster.kubectl.ok("get endpoints web")).toContain(`${ips[0]}:8080`);
  });

  test("follow pods that become unready, end, or are relabelled", async () => {
    const hold = { metadata: { finalizers: ["example.com/hold"] } };
    const key = { namespace, name: "web-a" };
    await cluster.client.patch("pods", key, { patch: { kind: "merge", body: hold } });
    await cluster.kubectl.ok("delete pod web-a --wait=false");
    await until(async () => (await subsetsOf("web"))?.[0]?.addresses?.length).toBe(1);
    await until(async () => (await picture("web")).filter((line) => line.endsWith("ready serving"))).toEqual([
      "web-b ready serving",
    ]);
    await cluster.client.patch("pods", key, {
      patch: { kind: "merge", body: { metadata: { finalizers: null } } },
    });
    await until(() => picture("web")).toEqual(["web-b ready serving"]);
    await cluster.kubectl.ok("label pod web-b app=none --overwrite");
    await until(() => picture("web")).toEqual([]);
    await cluster.kubectl.ok("label pod web-b app=web --overwrite");
    await until(() => picture("web")).toEqual(["web-b ready serving"]);
  });

  test("of a headless service have host names, and unready pods when that is wanted", async () => {
    const probe = { httpGet: { port: 1, host: "127.0.0.1" }, periodSeconds: 60, timeoutSeconds: 1 };
    const containers = [{ name: "c", image: "web:1", readinessProbe: probe }];
    const spec = { hostname: "db-0", subdomain: "db", containers };
    const peers = { clusterIP: "None", publishNotReadyAddresses: true, selector: { app: "db" } };
    await cluster.apply(
      service("db", { clusterIP: "None", ports: [] }),
      service("db-peers", { ...peers, ports: [] }),
      pod("db-0", "db", spec),
    );
    await until(() => picture("db-peers")).toEqual(["db-0 ready"]);
    await until(() => picture("db")).toEqual(["db-0"]);
    const [slice] = await slicesOf("db");
    expect(slice?.endpoints).toMatchObject([{ hostname: "db-0" }]);
    expect(slice?.metadata.labels).toHaveProperty(["service.kubernetes.io/headless"], "");
    await until(async () => (await subsetsOf("db"))?.[0]).toMatchObject({
      notReadyAddresses: [{ hostname: "db-0" }],
    });
  });

  test("of other owners are not changed, and mirrored into a slice", async () => {
    const manual = { apiVersion: "v1", kind: "Endpoints", metadata: { name: "manual" } };
    await cluster.apply({ ...manual, subsets: [{ addresses: [{ ip: "192.0.2.1" }] }] });
    await cluster.apply(service("manual", { selector: undefined }));
    await until(() => slicesOf("manual")).toMatchObject([
      {
        endpoints: [{ addresses: ["192.0.2.1"] }],
        metadata: {
          labels: { "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io" },
        },
      },
    ]);
    expect(await subsetsOf("manual")).toMatchObject([{ addresses: [{ ip: "192.0.2.1" }] }]);
  });

  test("are restored when overwritten, are deleted with their service, and cause no requests at rest", async () => {
    const [slice] = await slicesOf("web");
    await cluster.kubectl.ok(`delete endpointslice ${slice?.metadata.name}`);
    await cluster.kubectl.ok("delete endpoints web");
    await until(() => picture("web")).toEqual(["web-b ready serving"]);
    await until(async () => (await subsetsOf("web"))?.length).toBe(1);

    await cluster.stopControllers();
    await cluster.startControllers();
    await cluster.untilAtRest();
    expect(await slicesOf("web")).toHaveLength(1);

    await cluster.kubectl.ok("delete service web");
    await cluster.untilGone("endpoints", "web");
    await until(() => slicesOf("web")).toEqual([]);
  });
});
